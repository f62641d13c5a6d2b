package analyzer

import "fmt"

// Pair is two words that stand side by side in a question.
type Pair struct {
	Words [2]string // the first term of each, as Question has it
	Stop  [2]bool   // which of them are stop words
	Query string    // a tsquery of the texts in which they stand side by side as in the question
}

// Pairs returns the different pairs of a question, in their order, for texts in any of the languages. Words
// of writing systems without spaces are pairs of characters, as in Question.
func Pairs(question string, languages []string) []Pair {
	analyzers := analyzersOf(languages)
	type side struct {
		first, query string
		stop         bool
		position     int
	}
	var pairs []Pair
	var last *side
	known := map[string]bool{}
	scan(question, func(t token) {
		if t.kind == whole || t.kind == glyph && !t.alone {
			return
		}
		var terms []string
		now := side{position: t.position}
		for _, by := range analyzers {
			terms = append(terms, by.asked(t)...)
			now.stop = now.stop || t.kind == word && by.stop(t.text)
		}
		now.first, now.query = terms[0], anyOf(unique(terms))
		if last != nil && now.position > last.position {
			query := fmt.Sprintf("%s <%d> %s", last.query, now.position-last.position, now.query)
			if !known[query] {
				known[query] = true
				pairs = append(pairs, Pair{[2]string{last.first, now.first}, [2]bool{last.stop, now.stop}, query})
			}
		}
		last = &now
	})
	return pairs
}
