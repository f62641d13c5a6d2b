package grounding

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// claims reports whether a fact of the answer needs proof.
func (c *checker) claims(f fact) bool {
	if !f.weak {
		return true
	}
	if f.kind != Name || f.words == nil { // the one that may be an article
		return false
	}
	// What begins a sentence may be a name elsewhere.
	return !slices.ContainsFunc(f.words, func(word string) bool { return !c.named[word] })
}

// known reports whether a source has a fact.
func (c *checker) known(f fact) bool {
	for n := range c.sources {
		if c.sources[n].matcher.has(f) {
			return true
		}
	}
	if f.words == nil {
		return false
	}
	for _, word := range f.words { // a name of which several sources have the parts
		if !slices.ContainsFunc(c.sources, func(s source) bool { return s.matcher.has(fact{kind: Name, words: []string{word}}) }) {
			return false
		}
	}
	return true
}

// compare adds to a sentence what its supporting passages lack, or deny.
func (c *checker) compare(s *Sentence, found support, facts []fact) {
	for _, f := range facts {
		if !c.claims(f) || slices.ContainsFunc(s.Missing, func(m Missing) bool { return m.Start == f.start }) {
			continue
		}
		if !c.supports(found, f) {
			s.Missing = append(s.Missing, Missing{Span: Span{f.start, f.end}, Kind: f.kind, Elsewhere: !c.otherwise(found.parts[0], f, facts)})
		}
	}
	best := found.parts[0]
	if name, ok := c.exchanged(s.Span, best, facts); ok && !slices.ContainsFunc(s.Missing, func(m Missing) bool { return m.Start == name.Start }) {
		s.Missing = append(s.Missing, Missing{Span: name, Kind: Name})
	}
	if found.coverage >= deniedFrom {
		if at, ok := c.denied(s.Span, best); ok {
			s.Missing = append(s.Missing, Missing{Span: at, Kind: Negation})
		}
	}
	slices.SortStableFunc(s.Missing, func(a, b Missing) int { return a.Start - b.Start })
}

// coverFacts adds to what the best part covers the words of numbers and dates that it has, however they are written.
func (c *checker) coverFacts(found *support, need needed, words []hit, facts []fact) {
	if len(found.parts) == 0 {
		return
	}
	best, total := found.parts[0], need.total()
	for _, f := range facts {
		if f.kind == Name || !c.partHas(best, f) {
			continue
		}
		for _, h := range words {
			if h.Start >= f.start && h.Start < f.end && !best.words[h.word] {
				best.words[h.word] = true
				found.coverage = min(1, found.coverage+need[h.word]/total)
			}
		}
	}
}

// supports reports whether the parts have a fact. A further part proves nothing that it has alone.
func (c *checker) supports(found support, f fact) bool {
	if c.partHas(found.parts[0], f) {
		return true
	}
	for _, p := range found.parts[1:] {
		others := 0
		for word := range p.words {
			if !found.parts[0].words[word] && !c.wordWithin(word, f) {
				others++
			}
		}
		if others > 1 && c.partHas(p, f) {
			return true
		}
	}
	return false
}

// wordWithin reports whether a word of the answer stands within a fact.
func (c *checker) wordWithin(word int, f fact) bool {
	words, _ := within(c.words, Span{f.start, f.end}, func(h hit) int { return h.Start })
	return slices.ContainsFunc(words, func(h hit) bool { return h.word == word })
}

// otherwise reports whether a part has another fact of the same kind in the place of one, which the sentence lacks.
func (c *checker) otherwise(best part, f fact, facts []fact) bool {
	m := newMatcher("")
	m.add(facts)
	sentences := c.sources[best.source].sentences
	for n := best.first; n <= best.last; n++ {
		for _, other := range sentences[n].facts {
			switch {
			case other.kind != f.kind || other.words != nil || other.code != "" || other.weak:
			case f.number.unit.dimension != "" && other.number.unit.dimension != "" && f.number.unit.dimension != other.number.unit.dimension:
			case !m.has(other):
				return true
			}
		}
	}
	return false
}

// partHas reports whether a part, with the sentences beside it, has a fact. Of names the whole source counts: later sentences
// use a pronoun.
func (c *checker) partHas(p part, f fact) bool {
	s := &c.sources[p.source]
	if f.kind == Name || p.last < p.first {
		return s.matcher.has(f)
	}
	for n := max(0, p.first-1); n <= min(p.last+1, len(s.sentences)-1); n++ {
		one := &s.sentences[n]
		if one.matcher == nil {
			m := newMatcher(s.text[one.Start:one.End])
			m.add(one.facts)
			one.matcher = &m
		}
		if one.matcher.has(f) {
			return true
		}
	}
	if f.date.year > 0 && f.date.month > 0 { // a year that is said once
		return s.matcher.has(f)
	}
	return false
}

// exchanged returns a word at the beginning of a sentence that may be a name and that no source has, if its source has a name
// that the sentence lacks and agrees otherwise.
func (c *checker) exchanged(at Span, best part, facts []fact) (Span, bool) {
	if c.language == "german" {
		return Span{}, false // all nouns have capitals
	}
	own := map[string]bool{}
	for _, l := range lexemesOf(c.answer[at.Start:at.End]) {
		own[l.fold] = true
	}
	for _, f := range facts {
		if f.kind != Name || !f.weak || f.words == nil || c.known(f) || !c.coversBut(at, best, f) {
			continue
		}
		s := &c.sources[best.source]
		for n := best.first; n <= best.last; n++ {
			for _, other := range s.sentences[n].facts {
				if other.kind == Name && !slices.ContainsFunc(other.words, func(word string) bool { return own[word] || s.matcher.hasSmall(word) }) && other.words != nil {
					return Span{f.start, f.end}, true
				}
			}
		}
	}
	return Span{}, false
}

// coversBut reports whether a part has all words of a sentence but those of a fact.
func (c *checker) coversBut(at Span, best part, f fact) bool {
	words, _ := within(c.words, at, func(h hit) int { return h.Start })
	lacking := 0
	for _, h := range words {
		if !best.words[h.word] && (h.Start < f.start || h.Start >= f.end) {
			lacking++
		}
	}
	return 4*lacking <= len(words)
}

// denied returns a negation that the sentence in a span has and its source lacks, or the whole sentence if it is the other way
// round.
func (c *checker) denied(at Span, best part) (Span, bool) {
	own := c.deniedWords(c.answer, c.language, at, c.words)
	s := c.sources[best.source]
	source := map[int]Span{}
	said := map[int]bool{}
	for n := best.first; n <= best.last; n++ {
		one := s.sentences[n]
		for _, h := range one.words {
			said[h.word] = true
		}
		for word, by := range c.deniedWords(s.text, s.language, one.Span, one.words) {
			source[word] = by
		}
	}
	claimed := map[int]bool{}
	words, _ := within(c.words, at, func(h hit) int { return h.Start })
	for _, h := range words {
		claimed[h.word] = true
	}
	both := false
	for word := range own {
		_, too := source[word]
		both = both || too
	}
	if both {
		return Span{}, false
	}
	first, ok := Span{}, false
	for word, by := range own {
		if said[word] && (!ok || by.Start < first.Start) {
			first, ok = by, true
		}
	}
	if ok && len(source) == 0 {
		return first, true
	}
	if len(own) > 0 {
		return Span{}, false
	}
	for word := range source {
		if claimed[word] {
			return at, true
		}
	}
	return Span{}, false
}

// deniedWords returns the words of the answer that the sentence in a span denies, with where its negation stands.
func (c *checker) deniedWords(text, language string, at Span, words []hit) map[int]Span {
	list := negations[language]
	if list == nil {
		list = negations["english"]
	}
	words, _ = within(words, at, func(h hit) int { return h.Start })
	found := map[int]Span{}
	note := func(near Span, by Span) {
		for _, h := range words {
			if h.Start >= near.Start && h.Start < near.End {
				found[h.word] = by
			}
		}
	}
	clause := lexemesOf(text[at.Start:at.End])
	for n := range clause {
		clause[n].Start += at.Start
		clause[n].End += at.Start
	}
	for n, l := range clause {
		switch {
		case l.kind == letters && (list[l.fold] || contracted(clause, n)) && !notOnly[next(clause, n).fold] && (next(clause, n).text != "." || l.fold != "no"):
			for _, near := range scope(clause, n, language) {
				note(near, l.Span)
			}
		case l.kind == unspaced:
			if near, by, ok := unspacedScope(text, at, l.Start); ok {
				note(near, by)
			}
		}
	}
	return found
}

func next(clause []lexeme, n int) lexeme {
	if n+1 < len(clause) {
		return clause[n+1]
	}
	return lexeme{}
}

// contracted reports whether a word is the t of isn't.
func contracted(clause []lexeme, n int) bool {
	return n > 1 && clause[n].fold == "t" && (clause[n-1].text == "'" || clause[n-1].text == "’") && strings.HasSuffix(clause[n-2].fold, "n")
}

// scope returns the two telling words behind a negation in its clause, or those before it if none are behind it.
func scope(clause []lexeme, n int, language string) (near []Span) {
	stop := stopWord(language)
	telling := func(l lexeme) bool {
		return l.kind == digits || l.kind == letters && !stop(strings.ToLower(l.text)) && !negations[language][l.fold]
	}
	ends := func(l lexeme) bool { return l.kind == sign && strings.Contains(",;:()–—", l.text) }
	for k := n + 1; k < len(clause) && len(near) < 2 && !ends(clause[k]); k++ {
		if telling(clause[k]) {
			near = append(near, clause[k].Span)
		}
	}
	for k := n - 1; k >= 0 && len(near) == 0 || k >= 0 && len(near) == 1 && near[0].Start < clause[n].Start; k-- {
		if ends(clause[k]) {
			break
		}
		if telling(clause[k]) {
			near = append(near, clause[k].Span)
		}
	}
	return near
}

// unspacedScope returns what a Chinese or Japanese negation that begins at a position denies.
func unspacedScope(text string, at Span, start int) (near, by Span, ok bool) {
	const reach = 12 // bytes: four characters
	from := start
	for from > at.Start {
		r, n := utf8.DecodeLastRuneInString(text[at.Start:from])
		if !unicode.Is(unicode.Hiragana, r) {
			break
		}
		from -= n
	}
	around := text[max(at.Start, start-9):min(at.End, start+30)]
	for _, phrase := range harmless {
		if from := strings.Index(around, phrase); from >= 0 && max(at.Start, start-9)+from <= start && start < max(at.Start, start-9)+from+len(phrase) {
			return Span{}, Span{}, false
		}
	}
	rest := text[start:at.End]
	for _, word := range behind {
		if strings.HasPrefix(rest, word) {
			return Span{max(at.Start, from-reach), start}, Span{start, start + len(word)}, true
		}
	}
	for _, word := range before {
		if strings.HasPrefix(rest, word) {
			end := start + len(word)
			return Span{end, min(at.End, end+reach)}, Span{start, end}, true
		}
	}
	return Span{}, Span{}, false
}
