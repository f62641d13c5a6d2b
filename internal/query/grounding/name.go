package grounding

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// begins reports whether a lexeme begins a sentence, a quotation or an item.
func (p *parser) begins(at int) bool {
	if at == 0 || strings.Contains(p.text[p.all[at-1].End:p.all[at].Start], "\n") {
		return true
	}
	before := p.get(at - 1)
	return before.kind == sign && strings.Contains(`.:!?"“”„«»(*|#>…。！？：「『`, before.text)
}

// chunk returns the index behind the letters and digits that follow each other with at most one joiner between them.
func (p *parser) chunk(at int) int {
	word := func(n int) bool { k := p.get(n).kind; return n < len(p.all) && (k == letters || k == digits) }
	if !word(at) {
		return at
	}
	next := at + 1
	for p.touches(next - 1) {
		switch {
		case word(next):
			next++
		case strings.Contains("-_./@#+:", p.get(next).text) && p.touches(next) && word(next+1):
			next += 2
		default:
			return next
		}
	}
	return next
}

// code reads an identifier, such as RX-500, v2.1.3, getUserById or example.com.
func (p *parser) code(at int) int {
	next := p.chunk(at)
	if next == at || !p.isCode(at, next) {
		return at
	}
	code := " "
	for _, l := range p.all[at:next] {
		if l.kind == letters || l.kind == digits {
			code += l.fold + " "
		}
	}
	return p.put(at, next, fact{kind: Name, code: code})
}

func (p *parser) isCode(at, next int) bool {
	joiners, dots, withDigits, withLetters, small := "", 0, false, false, true
	for _, l := range p.all[at:next] {
		switch l.kind {
		case digits:
			withDigits = true
		case letters:
			withLetters = true
			small = small && !l.capital()
			if l.mixed() {
				return true
			}
		default:
			joiners += l.text
			if l.text == "." {
				dots++
			}
		}
	}
	first := p.get(at)
	switch {
	case withLetters && strings.ContainsAny(joiners, "_@"), withLetters && strings.Count(joiners, "/") > 1:
		return true
	case !withLetters:
		return dots > 1 && dots == len(joiners) && !p.grouped(at, next)
	case withDigits && first.kind == letters:
		return (!strings.HasPrefix(joiners, "-") || first.capital() || p.get(at+1).text != "-" || utf8.RuneCountInString(first.text) <= 2) && !strings.Contains(joiners, ":")
	case withDigits: // digits first: 5kg and 3rd are numbers
		for n := at + 1; n < next; n++ {
			if p.all[n].kind == letters && p.get(n+1).kind == digits && n+1 < next && p.touches(n) {
				return true
			}
		}
		return false
	}
	return dots > 0 && dots == len(joiners) && small && !slices.ContainsFunc(p.all[at:next], func(l lexeme) bool { return l.kind == letters && len(l.text) < 2 })
}

// name reads a name: words with capitals where no sentence begins, words in capitals, runs of Katakana.
func (p *parser) name(at int) int {
	l := p.get(at)
	if l.kind == katakana && utf8.RuneCountInString(l.text) > 2 {
		return p.put(at, at+1, fact{kind: Name, words: []string{l.fold}})
	}
	if !l.capital() || stopName(l, p.language) {
		return at
	}
	next := at + 1
	words := []string{l.fold}
	for p.follows(next) {
		if p.get(next).kind == letters {
			words = append(words, p.get(next).fold)
		}
		next++
	}
	sure := len(words) > 1 || !p.begins(at) || l.shouted()
	if p.language == "german" {
		sure = p.germanName(at, next, len(words))
	}
	for _, word := range p.all[at:next] {
		sure = sure || word.shouted()
	}
	return p.put(at, next, fact{kind: Name, words: words, weak: !sure})
}

// follows reports whether a lexeme goes on with a name.
func (p *parser) follows(at int) bool {
	l := p.get(at)
	gap := at > 0 && at < len(p.all) && strings.Trim(p.text[p.all[at-1].End:p.all[at].Start], " \u00a0") == ""
	if l.capital() {
		return gap && months[l.fold] == 0 && weekdays[l.fold] == 0 && !l.mixed() && (!p.touches(at) || p.get(at+1).kind != digits)
	}
	return l.text == "-" && p.touches(at-1) && p.touches(at) && p.get(at+1).capital()
}

// stopName reports whether a word with a capital is none of a name.
func stopName(l lexeme, language string) bool {
	if utf8.RuneCountInString(l.text) == 1 || l.fold == "ok" || determiners[l.fold] {
		return true
	}
	return months[l.fold] > 0 && !unsureMonths[l.fold] || weekdays[l.fold] > 0 || stopWord(language)(strings.ToLower(l.text)) && !l.shouted()
}

// germanName reports whether German words with capitals are a name, and not nouns: several in a row, after a title, after a
// preposition without an article, or at the beginning of a sentence before a verb in the singular.
func (p *parser) germanName(at, next, words int) bool {
	before, first := p.get(at-1), p.get(at)
	switch {
	case titles[before.fold] || first.shouted():
		return true
	case p.begins(at):
		behind := p.get(next)
		if words > 1 {
			return !strings.HasSuffix(first.fold, "e") && !strings.HasSuffix(first.fold, "en") && !strings.HasSuffix(first.fold, "es")
		}
		return !strings.HasPrefix(first.fold, "ge") && !strings.HasSuffix(first.fold, "iert") && behind.kind == letters && (sentenceVerbs[behind.fold] || strings.HasSuffix(behind.fold, "te") && !behind.capital())
	case before.kind == letters && germanPlaces[before.fold]:
		return !strings.HasSuffix(first.fold, "ung") && !strings.HasSuffix(first.fold, "en") && !strings.HasSuffix(first.fold, "heit") && !strings.HasSuffix(first.fold, "keit")
	}
	return words > 1
}
