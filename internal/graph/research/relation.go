package research

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// relation is a piece of a part that leads from one thing to the next, or asks for what is said of the last one: "the teacher of",
// "the town where ... was born", "how long".
type relation struct {
	text  string
	order int
	heads []int // terms of which a passage must have one; none if place
	// from says which side of an action the thing is on that the relation leads from: that of "the founder of X" is acted on. Any if empty.
	from  side
	place bool // it asks where the thing is
}

// side is a role in an action: "Anna taught Ben".
type side string

const (
	acting  side = "acting"
	actedOn side = "acted on"
)

var (
	// modifiers say which of several things is meant, not what it has to do with another.
	whereIs   = regexp.MustCompile(`(?i)^where(?:abouts)? (?:is|are|was|were) the `)
	modifiers = strings.Fields("first second third last former later current present only main chief old new late")
	// comparing words ask for a measure of a thing.
	comparing = strings.Fields("older oldest younger youngest elder eldest earlier earliest later latest larger largest bigger biggest smaller smallest longer longest shorter shortest higher highest taller tallest lower lowest deeper deepest")
	// light verbs say less than the noun that they go with: "on which river does it lie".
	light = strings.Fields("lie lies lay stand stands situated located belong belongs")
	// auxiliary ends what a question asks for, as "which school" in "which school did ... attend".
	auxiliary = strings.Fields("is are was were did do does has have had can")
	agents    = regexp.MustCompile(`(?:er|or)$|^(?:captain|architect|pioneer)$`)
	patients  = strings.Fields("pupil pupils apprentice apprentices student students son sons daughter daughters child children")
	elders    = strings.Fields("father mother parent parents teacher master mentor")
	kin       = strings.Fields("sister brother father mother daughter spouse partner owner river tower number year letter member order winter summer water paper corner newspaper chapter quarter")
)

// relationsOf returns the relations of a part in the order in which a chain meets them. The terms are those of termsOf.
func relationsOf(p part, terms []term) (all []relation) {
	words := wordsOf(p.text)
	depth := depths(p, words)
	number := map[string]int{}
	for n, t := range terms {
		number[t.word] = n
	}
	members := membersOf(p, words, depth, func(n int) bool { _, ok := number[words[n].text]; return ok && depth[n] >= 0 })
	for _, one := range members {
		heads := headsOf(words, one)
		if len(heads) == 0 {
			continue
		}
		r := relation{order: len(terms)}
		var text []string
		for _, n := range one {
			r.order = min(r.order, terms[number[words[n].text]].order)
			text = append(text, words[n].text)
		}
		for _, n := range heads {
			r.heads = append(r.heads, number[words[n].text])
			r.from = cmp.Or(r.from, sideOf(p, words, n))
		}
		r.text = strings.Join(text, " ")
		all = append(all, r)
	}
	if whereIs.MatchString(p.text) && slices.Max(depth) < 4*len(words) {
		all = append(all, relation{text: "where", order: len(terms), place: true})
	}
	slices.SortStableFunc(all, func(a, b relation) int { return a.order - b.order })
	return all
}

// sideOf returns the side of what the relation of a word leads from.
func sideOf(p part, words []word, n int) side {
	named := func(at int) bool {
		return at < len(words) && slices.ContainsFunc(p.names, func(s span) bool { return s.Start <= words[at].Start && words[at].Start < s.End })
	}
	switch text := words[n].text; {
	case slices.Contains(patients, text):
		return acting
	case slices.Contains(elders, text), agents.MatchString(text) && !slices.Contains(kin, text):
		return actedOn
	case named(n+1) && n > 0 && (slices.Contains([]string{"who", "that", "which"}, words[n-1].text)):
		return actedOn
	}
	return ""
}

// membersOf returns the words of each relation, in the order of the text. Words next to each other are of one relation; so are a noun and
// the verb of its clause, and what a question asks for and its verb.
func membersOf(p part, words []word, depth []int, isTerm func(int) bool) (all [][]int) {
	of := make([]int, len(words))
	for n := range words {
		of[n] = -1
		if !isTerm(n) {
			continue
		}
		if n > 0 && of[n-1] >= 0 && p.text[words[n-1].End:words[n].Start] == " " && !slices.Contains(comparing, words[n-1].text) && (depth[n] != ofOwner && depth[n-1] != ofOwner || slices.Contains(modifiers, words[n-1].text)) {
			of[n] = of[n-1]
			all[of[n]] = append(all[of[n]], n)
			continue
		}
		of[n] = len(all)
		all = append(all, []int{n})
	}
	merge := func(noun, verb int) {
		if noun < 0 || verb < 0 || noun == verb {
			return
		}
		all[noun] = append(all[noun], all[verb]...)
		for _, n := range all[verb] {
			of[n] = noun
		}
		all[verb] = nil
	}
	first := slices.IndexFunc(words, func(w word) bool { return slices.Contains(auxiliary, w.text) })
	for n := 1; n+1 < len(words); n++ {
		if !slices.Contains(clauseWords, words[n].text) || of[n-1] < 0 {
			continue
		}
		if of[n+1] >= 0 && n+1 < len(words) { // "the master who trained"
			merge(of[n-1], of[n+1])
			continue
		}
		for verb := n + 1; verb < len(words); verb++ { // "the town where the owner was born"
			if of[verb] >= 0 && depth[verb] == depth[n-1]-1 {
				merge(of[n-1], of[verb])
				break
			}
		}
	}
	asked, last := -1, -1
	if first > 0 {
		asked = of[first-1]
	}
	for n := range words {
		if of[n] >= 0 && depth[n] >= 4*len(words) {
			last = of[n]
		}
	}
	if asked >= 0 && p.listed && last < 0 { // "which film has": the kind of the items
		all[asked] = nil
	}
	merge(asked, last)
	if asked == 0 && last < 0 && first == 2 && words[0].text == "which" { // "which town is twinned with", "which town is the birthplace of"
		for n := first + 1; n <= first+2 && n < len(words); n++ {
			if of[n] > 0 {
				merge(asked, of[n])
				break
			}
		}
	}
	return slices.DeleteFunc(all, func(g []int) bool { return len(g) == 0 })
}

// headsOf returns the words of a relation that say what it is: its verb, or else its noun, or else what it compares by.
func headsOf(words []word, members []int) []int {
	weak := func(n int) bool {
		return slices.Contains(modifiers, words[n].text) || slices.Contains(light, words[n].text) || slices.Contains(comparing, words[n].text)
	}
	for n := len(members) - 1; n >= 0; n-- {
		if weak(members[n]) {
			continue
		}
		if n > 0 && groups[words[members[n]].text] == nil && groups[words[members[0]].text] != nil && !weak(members[0]) {
			return []int{members[0], members[n]} // "the press that makes"
		}
		return members[n : n+1]
	}
	for n := len(members) - 1; n >= 0; n-- {
		if !slices.Contains(modifiers, words[members[n]].text) || slices.Contains(comparing, words[members[n]].text) {
			return members[n : n+1]
		}
	}
	return members
}
