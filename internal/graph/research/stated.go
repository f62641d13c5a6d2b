package research

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/ragdhq/ragd/internal/query"
)

// statement is where a passage states a relation of a thing.
type statement struct {
	passage *passage
	at      query.Span // the sentence
	hit     query.Span // the word of the relation
	values  []string   // names that stand to the thing in the relation, the nearest first
	figures []string   // numbers in the sentence
}

// value returns what a statement says of the thing, as far as a name or a number shows it: of names the nearest.
func (s *statement) value() string {
	switch {
	case len(s.values) > 0:
		return s.values[0]
	case len(s.figures) > 0:
		return s.figures[0]
	}
	return ""
}

// actor is a name or a pronoun in a sentence.
type actor struct {
	query.Span

	name    string
	self    bool // the thing that is asked about
	owner   bool // followed by what belongs to it
	adjunct bool // says where or when: "in Upper Vale"
	aside   bool // in a clause about the name before it
}

// reading is a passage as it is about one thing.
type reading struct {
	*passage

	about     bool // its title is the thing's
	event     bool // it reports what happened at the thing
	sentences []query.Span
	actors    [][]actor // of each sentence
}

// How English says who does what.
var (
	personal    = regexp.MustCompile(`(?i)\b(?:he|him|his|she|her|hers|it|its|they|them|their)\b`)
	owning      = regexp.MustCompile(`(?i)^(?:his|her|its|their)$`)
	place       = regexp.MustCompile(`(?i)\b(?:in|at|near|on|from|outside|off)(?:\s+the)?\s+$`)
	agent       = regexp.MustCompile(`(?i)\b(?:by|under|from|with|to)\b`)
	possessive  = regexp.MustCompile(`^['’]s?\b`)
	calendar    = regexp.MustCompile(`^(?:[0-9]|January|February|March|April|May\b|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)`)
	companion   = regexp.MustCompile(`(?i)\b(?:married|wife|husband|spouse|widow|widower|brother|sister|son|daughter|father|mother|cousin|niece|nephew|uncle|aunt|friend|colleague|rival|partner|assistant|pupil|apprentice|teacher|taught|trained|successor|predecessor|namesake|engaged|household|twin)\b`)
	introduced  = regexp.MustCompile(companion.String() + `(?:\s+(?:by|to|of|the|a|an|with)|\s+was|,|\s+\p{Ll}+){0,3}\s+$`)
	object      = regexp.MustCompile(`(?i)^(?:it|him|them)$`)
	definite    = regexp.MustCompile(`^(?:The|This|That) (\p{Ll}+)`)
	verbAfter   = regexp.MustCompile(`^(?:['’]s|\s+(?:was|were|is|had|has|came|went|did|[\p{L}]+ed)\b)`)
	aside       = regexp.MustCompile(`,\s+(?:who|which|whose|where|whom)\b[^,;]*(?:,|;|\.|$)`)
	lying       = regexp.MustCompile(`(?i)^[^,;]{0,40}\b(?:is|are|was|were|lies|lie|stands|stood|situated|located|based)\b`)
	passive     = regexp.MustCompile(`(?i)\b(?:is|was|were|are|been|be)\b`)
	actions     = regexp.MustCompile(`(?i)^(?:taught|built|wrote|led|ran|won|drew|found|held|made|bought|gave|sang|sung|[\p{L}]+ed)$`)
	being       = regexp.MustCompile(`(?i)\b(?:is|was|are|were|became|as)\s+$`)
	learning    = regexp.MustCompile(`(?i)^(?:learned|learnt|studied|apprenticed|attended|educated|belonged)$`)
	connectives = regexp.MustCompile(`(?i)^(?:\s|,|and|or|the|with)*$`)
	figure      = regexp.MustCompile(`[0-9][0-9.,\x{a0} ]*[0-9]|[0-9]`)
	lifespan    = regexp.MustCompile(`^\s*\([^)]*[0-9]{4}`)
)

// readAbout reads a passage as it is about a thing that has the given names; without names, about anything. The passage may report an
// event there.
func readAbout(p *passage, names []string, event bool) *reading {
	r := &reading{passage: p, event: event, about: len(names) == 0 || len(spansOf(p.source.Title, names)) > 0, sentences: joined(p.source.Text, p.units)}
	all := marksOf(p, names)
	focus, gender, rival := r.about, "", false
	for _, s := range r.sentences {
		actors := r.inSentence(s, all, names)
		for n := range actors {
			a := &actors[n]
			if a.name != "" {
				continue
			}
			kind := genderOf(p.source.Text[a.Start:a.End])
			others := slices.ContainsFunc(actors[:n], func(o actor) bool { return o.name != "" && !o.self && !o.adjunct })
			own := slices.ContainsFunc(actors[:n], func(o actor) bool { return o.self })
			switch {
			case gender != "":
				a.self = kind == gender && (focus || r.about || own)
			case others && !own: // "Ben built it", "Ben was its owner", "the stream rises on its slopes", but not "the mill lost its owner"
				before := p.source.Text[s.Start:a.Start]
				a.self = focus && !rival && (object.MatchString(p.source.Text[a.Start:a.End]) || place.MatchString(before) || being.MatchString(before))
				if a.self {
					gender = kind
				}
			case focus || own:
				if a.self = !rival || own; a.self {
					gender = kind
				}
			}
		}
		if len(actors) > 0 {
			focus = actors[0].self || len(names) == 0
			rival = slices.ContainsFunc(actors, func(a actor) bool {
				return a.name != "" && !a.self && !a.adjunct && introduced.MatchString(p.source.Text[s.Start:a.Start])
			})
		}
		r.actors = append(r.actors, actors)
	}
	return r
}

// genderOf returns which pronouns go together.
func genderOf(pronoun string) string {
	switch strings.ToLower(pronoun) {
	case "he", "him", "his":
		return "he"
	case "she", "her", "hers":
		return "she"
	case "it", "its":
		return "it"
	case "they", "them", "their":
		return "they"
	}
	return "the"
}

// joined puts together what only the end of a line cut.
func joined(text string, units []query.Span) (sentences []query.Span) {
	for _, u := range units {
		if n := len(sentences); n > 0 {
			last := sentences[n-1]
			first := strings.IndexFunc(text[u.Start:u.End], unicode.IsLetter)
			if !strings.ContainsAny(text[last.End-1:last.End], ".!?:") && first == 0 && strings.IndexFunc(text[u.Start:u.End], unicode.IsLower) == 0 {
				sentences[n-1].End = u.End
				continue
			}
		}
		sentences = append(sentences, u)
	}
	return sentences
}

// marksOf returns the names in a passage, the thing's own marked.
func marksOf(p *passage, names []string) (all []actor) {
	text := p.source.Text
	others := written(text)
	for _, l := range p.links {
		if l.Name != "" {
			others = append(others, l.Name)
		}
	}
	slices.Sort(others)
	known := append(slices.Clone(names), slices.Compact(others)...)
	for _, s := range spansOf(text, known) {
		if calendar.MatchString(text[s.Start:s.End]) {
			continue
		}
		all = append(all, actor{Span: s.Span, name: text[s.Start:s.End], self: slices.ContainsFunc(names, func(n string) bool { return sameName(n, s.name) })})
	}
	taken := func(s query.Span) bool {
		return slices.ContainsFunc(all, func(a actor) bool { return s.Start < a.End && a.Start < s.End })
	}
	for _, name := range names { // by one of its words alone: "Marsh"
		words := wordsOf(name)
		if len(words) < 2 {
			continue
		}
		for _, w := range []word{words[0], words[len(words)-1]} {
			if short := name[w.Start:w.End]; len(short) > 2 && capital(name, w) && !common(w.text) {
				for _, s := range spansOf(text, []string{short}) {
					if capital(text, word{Span: s.Span}) && !taken(s.Span) {
						all = append(all, actor{Span: s.Span, name: short, self: true})
					}
				}
			}
		}
	}
	for _, at := range personal.FindAllStringIndex(text, -1) {
		if s := (query.Span{Start: at[0], End: at[1]}); !taken(s) {
			all = append(all, actor{Span: s, owner: owning.MatchString(text[at[0]:at[1]])})
		}
	}
	return all
}

// sameName reports whether two names are of the same words.
func sameName(a, b string) bool {
	return slices.EqualFunc(wordsOf(a), wordsOf(b), sameWord)
}

// inSentence returns the actors of a sentence in their order.
func (r *reading) inSentence(s query.Span, all []actor, names []string) (actors []actor) {
	text := r.source.Text
	for _, a := range all {
		if a.Start < s.Start || a.End > s.End {
			continue
		}
		a.self = a.self || len(names) == 0
		a.owner = a.owner || possessive.MatchString(text[a.End:s.End])
		a.adjunct = a.name != "" && !a.self && place.MatchString(text[s.Start:a.Start])
		actors = append(actors, a)
	}
	slices.SortFunc(actors, func(a, b actor) int { return a.Start - b.Start })
	if len(actors) == 0 || actors[0].Start > s.Start {
		if first, ok := r.subject(s, names); ok {
			actors = slices.Insert(actors, 0, first)
		}
	}
	for _, at := range aside.FindAllStringIndex(text[s.Start:s.End], -1) {
		for n := range actors {
			if from := actors[n].Start - s.Start; n > 0 && from > at[0] && from < at[1] {
				actors[n].aside = true
			}
		}
	}
	return actors
}

// subject returns what a sentence begins with, if that is no known name: "The press was", "Karl was".
func (r *reading) subject(s query.Span, names []string) (actor, bool) {
	text := r.source.Text[s.Start:s.End]
	if found := definite.FindStringSubmatchIndex(text); found != nil {
		noun := strings.ToLower(text[found[2]:found[3]])
		if !verbAfter.MatchString(text[found[1]:]) {
			return actor{}, false
		}
		lead := strings.ToLower(r.source.Text[:r.lead])
		of := strings.ToLower(strings.Join(names, " ")) + " " + r.source.Title
		known := slices.ContainsFunc(wordsOf(of), func(w word) bool { return w.text == noun }) || r.about && s.Start >= r.lead && slices.ContainsFunc(wordsOf(lead), func(w word) bool { return w.text == noun })
		a := actor{Span: query.Span{Start: s.Start, End: s.Start + found[1]}, owner: possessive.MatchString(text[found[1]:])}
		if !known {
			a.name = noun // of something else
		}
		return a, true
	}
	words := wordsOf(text)
	if len(words) < 2 || words[0].Start != 0 || !capital(text, words[0]) || common(words[0].text) || personal.MatchString(words[0].text) ||
		strings.HasSuffix(words[0].text, "ed") || !verbAfter.MatchString(text[words[0].End:]) {
		return actor{}, false
	}
	return actor{Span: query.Span{Start: s.Start, End: s.Start + words[0].End}, name: text[:words[0].End], owner: possessive.MatchString(text[words[0].End:])}, true
}

// statements returns where a passage states a relation of the thing that it is read for.
func (r *reading) statements(rel relation, terms []term) (all []statement) {
	for n, s := range r.sentences {
		if values := r.places(n); rel.place && len(values) > 0 {
			all = append(all, statement{r.passage, s, query.Span{}, values, nil})
		}
		for _, head := range rel.heads {
			for _, hit := range r.hits[head] {
				if hit.End == 0 || hit.Start < s.Start || hit.End > s.End || strings.Contains(r.source.Text[hit.End:s.End], "?") {
					continue // outside, or asked
				}
				if values, ok := r.stated(n, hit, rel); ok {
					all = append(all, statement{r.passage, s, hit, values, figuresIn(r.source.Text[s.Start:s.End])})
				}
			}
			if n == 0 && r.about && slices.Contains(groups[terms[head].word], "birth") {
				for _, a := range r.actors[n] { // "Ada (1830-1915)"
					if a.self && lifespan.MatchString(r.source.Text[a.End:s.End]) {
						all = append(all, statement{r.passage, s, a.Span, nil, figuresIn(r.source.Text[a.End:s.End])})
					}
				}
			}
		}
	}
	return all
}

// places returns where a sentence says that the thing is.
func (r *reading) places(sentence int) (values []string) {
	actors := r.actors[sentence]
	if len(actors) == 0 || !actors[0].self || actors[0].owner || strings.HasSuffix(r.source.Text[:r.sentences[sentence].End], "?") || !lying.MatchString(r.source.Text[actors[0].End:r.sentences[sentence].End]) {
		return nil
	}
	for _, a := range actors[1:] {
		if a.adjunct {
			values = append(values, a.name)
		}
	}
	return values
}

// stated reports whether a word of a relation is said of the thing in a sentence, and of which names.
func (r *reading) stated(sentence int, hit query.Span, rel relation) (values []string, ok bool) {
	text, s := r.source.Text, r.sentences[sentence]
	var before, after []actor // the nearest first
	for _, a := range r.actors[sentence] {
		switch inside := a.Start < hit.End && hit.Start < a.End; {
		case inside && a.name != "" && !a.self && !sameName(a.name, text[hit.Start:hit.End]):
			return nil, false // a word of another name
		case inside, a.aside:
		case a.End <= hit.Start:
			before = append([]actor{a}, before...)
		default:
			after = append(after, a)
		}
	}
	nearest := func(all []actor) int {
		if n := slices.IndexFunc(all, func(a actor) bool { return !a.adjunct }); n >= 0 {
			return n
		}
		return -1
	}
	from, to := nearest(before), nearest(after)
	if from >= 0 && before[from].self {
		subject := before[from]
		if subject.owner && !r.belongs(subject, hit) {
			return nil, false
		}
		for _, v := range r.list(after) {
			if v.name != "" && !v.self && r.fits(subject, v, hit, rel.from) {
				values = append(values, v.name)
			}
		}
		if subject.owner && len(values) == 0 && len(before) > from+1 && before[from+1].name != "" && being.MatchString(text[s.Start:subject.Start]) {
			values = append(values, before[from+1].name) // "Ben was its owner"
		}
		for _, v := range before[:from] { // "he was in Upper Vale born"
			values = append(values, v.name)
		}
		return values, len(values) > 0 || len(after) == 0 || r.fits(subject, after[0], hit, rel.from)
	}
	if from >= 0 { // "Anna Kalo commanded it"
		other := before[from]
		if other.owner || !r.event && (to < 0 || !after[to].self || !r.fits(other, after[to], hit, rel.from)) {
			return nil, false
		}
		for _, v := range r.list(before) {
			if !v.self && v.name != "" {
				values = append(values, v.name)
			}
		}
		return values, len(values) > 0
	}
	// Nothing stands before the word: "Born in Upper Vale, she", "Captain: Anna Kalo".
	for n, a := range after {
		if a.self {
			for _, v := range after[:n] {
				if v.name != "" {
					values = append(values, v.name)
				}
			}
			return values, true
		}
	}
	if !r.about || s.Start > r.lead && r.otherBefore(sentence) {
		return nil, false
	}
	for _, v := range r.list(after) {
		if v.name != "" {
			values = append(values, v.name)
		}
	}
	for _, v := range before { // "In Upper Vale ... was born"
		values = append(values, v.name)
	}
	return values, true
}

// otherBefore reports whether the sentence before is of something else.
func (r *reading) otherBefore(sentence int) bool {
	for n := sentence - 1; n >= 0; n-- {
		if len(r.actors[n]) > 0 {
			return !r.actors[n][0].self
		}
	}
	return false
}

// belongs reports whether a word is what belongs to an owner, not to what belongs to it: "her birthplace", but not "her brother was born".
func (r *reading) belongs(owner actor, hit query.Span) bool {
	between := strings.TrimPrefix(strings.TrimPrefix(r.source.Text[owner.End:hit.Start], "'s"), "’s")
	for _, w := range wordsOf(between) {
		if stop(w.text) || companion.MatchString(w.text) || groups[w.text] != nil {
			return false
		}
	}
	return !strings.ContainsAny(between, "'’,;")
}

// list returns the actors from the nearest on that stand in a list with it, and those that say where.
func (r *reading) list(all []actor) (listed []actor) {
	for n, a := range all {
		if n > 0 {
			before, after := all[n-1].Span, a.Span
			if before.Start > after.Start {
				before, after = after, before
			}
			if !all[n-1].adjunct && !a.adjunct && !connectives.MatchString(r.source.Text[before.End:after.Start]) {
				break
			}
		}
		listed = append(listed, a)
	}
	return listed
}

// fits reports whether the thing has the role that a relation asks for, of two actors of which the first stands before the word. Words
// that tell no roles fit any.
func (r *reading) fits(first, second actor, hit query.Span, from side) bool {
	if from == "" || first.End > hit.Start {
		return true
	}
	text := r.source.Text
	word, middle, following := strings.ToLower(text[hit.Start:hit.End]), text[first.End:hit.Start], ""
	if second.Start > hit.End {
		following = text[hit.End:second.Start]
	}
	var firstActs bool
	switch junior := slices.Contains(patients, word); {
	case junior || slices.Contains(elders, word):
		ofSecond := strings.HasPrefix(strings.TrimSpace(following), "of") // "Ben was the teacher of Anna", else "Ben's teacher was Anna"
		if !first.owner && !ofSecond {
			return true
		}
		firstActs = ofSecond != junior
	case learning.MatchString(word), !actions.MatchString(word):
		return true
	default:
		firstActs = !passive.MatchString(middle) && !agent.MatchString(following)
	}
	return firstActs == first.self == (from == acting)
}

// figuresIn returns the numbers in a text.
func figuresIn(text string) (all []string) {
	for _, f := range figure.FindAllString(text, -1) {
		all = append(all, strings.Trim(f, " .,\u00a0"))
	}
	return all
}
