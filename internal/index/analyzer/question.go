package analyzer

import (
	"fmt"
	"slices"
	"strings"
)

// Asked is a word of a question, or several that are written as one.
type Asked struct {
	// Terms are what may stand for it in a text, each once: its stems in several languages, a number
	// without leading zeros, an umlaut written as two letters.
	Terms []string
	Count int  // how often the question has it
	Whole bool // several words written as one, which are asked for too
	Part  bool // a word of a whole
	Stop  bool // it says little: an article, a pronoun
	// Word is the word in lower case, empty in writing systems without spaces.
	Word string
	Last bool // the question ends with it
}

// Question returns what a question asks, in the order of its words, for texts in any of the languages.
func Question(question string, languages []string) []Asked {
	analyzers := analyzersOf(languages)
	var asked []Asked
	known := map[string]int{} // by the first term
	scan(question, func(t token) {
		if t.kind == glyph && !t.alone {
			return // its pairs tell more
		}
		a := Asked{Count: 1, Whole: t.kind == whole, Part: t.part, Last: t.end == len(question)}
		if t.kind == word || t.kind == whole {
			a.Word = t.text
		}
		for _, by := range analyzers {
			a.Terms = append(a.Terms, by.asked(t)...)
			a.Stop = a.Stop || t.kind == word && by.stop(t.text)
		}
		slices.Sort(a.Terms[1:])
		a.Terms = unique(a.Terms)
		if at, ok := known[a.Terms[0]]; ok {
			asked[at].Count++
			asked[at].Last = a.Last
			return
		}
		known[a.Terms[0]] = len(asked)
		asked = append(asked, a)
	})
	return asked
}

// unique returns the different texts of a list, in the order of their first.
func unique(texts []string) []string {
	out := texts[:0]
	for _, text := range texts {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

func (a *Analyzer) stop(word string) bool {
	return stopWords(a.languageOf(word))[folded(word)]
}

// asked returns the terms by which texts may have a token of a question.
func (a *Analyzer) asked(t token) []string {
	if t.kind != word && t.kind != whole {
		return []string{folded(t.text)}
	}
	terms := []string{a.stem(t.text)}
	if t.kind == word {
		terms = append(terms, a.variants(t.text)...)
	}
	if withUmlauts[a.language] {
		if other := digraphs.Replace(t.text); other != t.text {
			terms = append(terms, a.stem(other))
		}
	}
	return terms
}

// withUmlauts are the languages whose letters are written as two where a keyboard lacks them.
var withUmlauts = map[string]bool{"danish": true, "finnish": true, "german": true, "norwegian": true, "swedish": true}

// Phrase returns a tsquery of the texts in which the words of a phrase stand side by side, for texts in any
// of the languages; empty for a phrase without words.
func Phrase(phrase string, languages []string) string {
	analyzers := analyzersOf(languages)
	var out strings.Builder
	last := 0
	scan(phrase, func(t token) {
		if t.kind == whole || t.kind == glyph && !t.alone {
			return
		}
		var terms []string
		for _, by := range analyzers {
			terms = append(terms, by.asked(t)...)
		}
		if out.Len() > 0 {
			fmt.Fprintf(&out, " <%d> ", t.position-last)
		}
		last = t.position
		out.WriteString(anyOf(unique(terms)))
	})
	return out.String()
}

// anyOf returns a tsquery of the texts that have one of the terms.
func anyOf(terms []string) string {
	quoted := make([]string, len(terms))
	for n, term := range terms {
		quoted[n] = Quote(term)
	}
	return "(" + strings.Join(quoted, " | ") + ")"
}

// Quote returns a term as a tsquery.
func Quote(term string) string { return "'" + quoter.Replace(term) + "'" }

var quoter = strings.NewReplacer(`\`, `\\`, `'`, `''`)

// Unquote returns the term of which Quote made a tsquery.
func Unquote(quoted string) string {
	if len(quoted) < 2 {
		return quoted
	}
	return unquoter.Replace(quoted[1 : len(quoted)-1])
}

var unquoter = strings.NewReplacer(`\\`, `\`, `''`, `'`)

// Sequence returns the terms of each word of a text, in their order and repeated as often as the text has them, for texts in any of the
// languages. What is written as one is its words, as in Phrase.
func Sequence(text string, languages []string) (words [][]string) {
	analyzers := analyzersOf(languages)
	scan(text, func(t token) {
		if t.kind == whole || t.kind == glyph && !t.alone {
			return
		}
		var terms []string
		for _, by := range analyzers {
			terms = append(terms, by.asked(t)...)
		}
		words = append(words, unique(terms))
	})
	return words
}
