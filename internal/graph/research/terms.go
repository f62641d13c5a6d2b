package research

import (
	"math"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index/analyzer"
)

// groups are English words that speak of the same relation or kind of thing, so that "the founder of" is found in "was
// set up by". A question asks for one word of a group by any other.
var groups = groupsOf(
	"born birth birthplace native nativity older oldest younger youngest elder age earlier later",
	"died death dead die killed buried funeral grave",
	"author writer wrote written write pen novelist poet",
	"painter painted artist canvas paint",
	"built build builder constructed construction shipbuilder shipyard launched laid slips slipways maker manufactured manufacturer produced",
	"yard shipyard shipbuilder slips slipways dock",
	"founder founded established establish founding began started start",
	"designer designed design architect engineer engineered plans planned",
	"captain commanded command commander skipper",
	"owner owned belonged belongs own bought proprietor paid",
	"married marry marriage spouse wife husband wed widow widower",
	"father son daughter child parent",
	"mother son daughter child parent",
	"brother sister sibling",
	"teacher taught teach master pupil apprentice apprenticed apprenticeship trained student learn learned learnt mentor",
	"school attended attend educated education academy college institute university studied",
	"director directed direct film",
	"headed head led lead leader chief manager managed ran run president chairman",
	"publisher published publish issued press presses printed prints appeared edition house",
	"river stream waterway water banks flows",
	"crosses cross spans span over",
	"rises rise source springs spring origin",
	"mountain mount peak summit slopes",
	"climbed climb ascent ascended climber top",
	"height high tall metres altitude",
	"long length kilometres miles",
	"inhabitants inhabitant population people residents counts",
	"partner partnership twin twinned",
	"prize trophy award awarded cup medal",
	"won win winner victory victor",
	"presented present handed gave",
	"museum gallery collection exhibition",
	"holds hold hangs keeps keep kept displayed",
	"depicts depicted depict shows show portrays",
	"competitor competed compete rival",
	"located location lies lie based stands situated seat headquarters",
	"composer composed compose music score",
	"performer performed singer sang sung recorded",
	"producer produced production",
	"actor actress starred cast",
	"country nationality nation citizen",
	"set plot takes plays",
)

// idle are words of questions that say nothing about what answers them.
var idle = strings.Fields("one ones many much whoever whichever person people thing things someone somebody behind finds find found called name named")

// groupsOf returns the groups of each word, from lists with spaces between the words.
func groupsOf(lists ...string) map[string][]string {
	of := map[string][]string{}
	for _, list := range lists {
		words := strings.Fields(list)
		for _, word := range words {
			of[word] = append(of[word], words...)
		}
	}
	return of
}

// term is an informative word of a part, besides its names.
type term struct {
	word   string
	order  int // from the words next to the name to those far from it, from 0
	weight float64
}

// finder finds terms in texts. It is not safe for concurrent use.
type finder struct {
	words *analyzer.Finder
	terms [][]int // that a word stands for, by its number
}

// newFinder returns the finder of terms, for texts in any of the languages.
func newFinder(terms []term, languages []string) finder {
	var all []string
	of := map[string][]int{} // the terms of each stem
	for n, t := range terms {
		text := t.word + " " + strings.Join(groups[t.word], " ")
		all = append(all, text)
		for _, asked := range analyzer.Question(text, languages) {
			for _, stem := range asked.Terms {
				if of[stem] == nil || of[stem][len(of[stem])-1] != n {
					of[stem] = append(of[stem], n)
				}
			}
		}
	}
	text := strings.Join(all, " ")
	f := finder{words: analyzer.NewFinder(text, languages)}
	for _, asked := range analyzer.Informative(analyzer.Question(text, languages)) {
		var numbers []int
		for _, stem := range asked.Terms {
			numbers = append(numbers, of[stem]...)
		}
		slices.Sort(numbers)
		f.terms = append(f.terms, slices.Compact(numbers))
	}
	return f
}

// find calls each for every word of a text that stands for a term.
func (f finder) find(text string, each func(term, start, end int)) {
	f.words.Find(text, func(word, start, end int) {
		for _, n := range f.terms[word] {
			each(n, start, end)
		}
	})
}

// termsOf returns the terms of a part, in the order in which a chain from its names would meet them; see depths.
func termsOf(p part, languages []string) []term {
	words := wordsOf(p.text)
	depth := depths(p, words)
	stop := analyzer.StopWords(languages)
	var terms []term
	found := map[string]int{}
	for n, w := range words {
		if depth[n] < 0 || stop(w.text) || asking.MatchString(w.text) || year.MatchString(w.text) || slices.Contains(idle, w.text) {
			continue
		}
		if _, twice := found[w.text]; twice {
			continue
		}
		found[w.text] = depth[n]
		terms = append(terms, term{word: w.text})
	}
	slices.SortStableFunc(terms, func(a, b term) int { return found[a.word] - found[b.word] })
	for n := range terms {
		terms[n].order = n
	}
	return terms
}

// depths returns how far each word of a part is from its name in the sense of the question, -1 for words that say nothing of a chain:
// names, and the kind of thing that they are of.
//
// What stands before the name describes it from the inside out: "the teacher of the captain of X" goes over the captain. A word after it
// is the verb of the nearest clause that waits for one: in "the school that the founder of X attended" that of "that", which is farther
// out than the founder, and not so far as the school. Where the name stands apart, as in "which ship is the one whose captain was born
// earlier, X or Y", "whose" stands for it.
func depths(p part, words []word) []int {
	depth := make([]int, len(words))
	first, last := len(words), -1 // of the name
	whose := slices.IndexFunc(words, func(w word) bool { return w.text == "whose" })
	for n, w := range words {
		if slices.ContainsFunc(p.names, func(s span) bool { return w.Start < s.End && s.Start < w.End }) {
			depth[n] = -1
			if whose < 0 {
				first, last = min(first, n), max(last, n)
			}
		}
	}
	from := 0
	if whose >= 0 {
		first, last = whose, whose
		for from = whose; from >= 2 && words[from-1].text == "of"; {
			from -= 2
		}
	}
	far := 4 * len(words)
	waiting := waitingClauses(p, words, first)
	for n := range words {
		switch {
		case depth[n] < 0:
		case n < from, n == first-1 && whose < 0 && !slices.Contains(links, words[n].text) && !asksByVerb(words, n):
			depth[n] = -1
		case n < first:
			depth[n] = 2 * (first - n)
		case whose >= 0 && n == whose+1:
			depth[n] = 1
		case n > last && whose < 0 && last >= 0 && belongsTo(p.text, words, last, n):
			depth[n] = ofOwner
		case n > last && !idleWord(words[n].text):
			depth[n] = far + n
			if len(waiting) > 0 && whose < 0 {
				depth[n] = 2*(first-waiting[0]) + 1
				waiting = waiting[1:]
			}
		}
	}
	return depth
}

// asksByVerb reports whether a word just before the name is what the question says of it: "who founded X", "which yard built X".
func asksByVerb(words []word, n int) bool {
	is := func(at int, any ...string) bool { return at >= 0 && slices.Contains(any, words[at].text) }
	return is(n-1, "who", "that", "what") || n > 1 && is(n-1, "which") || is(n-2, "which", "what", "whose")
}

// ofOwner is the depth of what belongs to the name.
const ofOwner = 1

// belongsTo reports whether a word is of what belongs to the name: "X's first captain", but not "attended" after it.
func belongsTo(text string, words []word, name, n int) bool {
	if !possessive.MatchString(text[words[name].End:]) {
		return false
	}
	for at := name + 1; at <= n; at++ {
		if idleWord(words[at].text) {
			return false
		}
	}
	asks := n > name+1 && n == len(words)-1 && text[words[n-1].End:words[n].Start] == " " && !slices.Contains(modifiers, words[n-1].text) &&
		slices.ContainsFunc(words[:name], func(w word) bool { return slices.Contains(auxiliary, w.text) })
	return !asks
}

// links are words that join a name to what is said of it. Any other word just before a name says what kind of thing it is: "the film X".
var links = strings.Fields("of in at by from for to with on under near and or the a an is was did does has than after before")

var clauseWords = strings.Fields("that who whom which where when")

// waitingClauses returns the positions of the words before the name whose clauses have their verb after it, the nearest first.
func waitingClauses(p part, words []word, name int) (waiting []int) {
	for n := min(name, len(words)) - 1; n > 0; n-- {
		if !slices.Contains(clauseWords, words[n].text) || n+1 >= len(words) {
			continue
		}
		next := words[n+1]
		if slices.Contains([]string{"the", "a", "an", "whoever", "his", "her", "its", "their"}, next.text) || slices.ContainsFunc(p.names, func(s span) bool { return s.Start <= next.Start && next.Start < s.End }) {
			waiting = append(waiting, n)
		}
	}
	return waiting
}

// idleWord reports whether a word is no verb that a clause waits for.
func idleWord(word string) bool {
	return slices.Contains(idle, word) || stop(word) || asking.MatchString(word)
}

// weigh sets the weights of the terms: more for one that fewer of the passages have.
func weigh(terms []term, passages []*passage) {
	for n := range terms {
		have := 0
		for _, p := range passages {
			if len(p.hits[n]) > 0 {
				have++
			}
		}
		terms[n].weight = 0.4 + math.Log(1+float64(len(passages))/float64(1+have))/3
	}
}
