// Package analyzer turns texts and questions into the terms of keyword search.
//
// Both go through the same steps. A text is split at spaces and punctuation. Words that punctuation
// joins, such as identifiers, versions, paths and dates, are terms by themselves and, written as one,
// a further term: CVE-2024-1234 has the terms cve, 2024, 1234 and cve2024.1234, and getUserById those of
// get_user_by_id. Case and accents do not matter; numbers are also found without leading zeros. Words
// are stemmed in the language of the document, and in that of their script. Writing systems without
// spaces, and Hangul, have each character and each pair of characters as terms.
//
// Stored terms depend on these steps. A change that makes other terms of some text, or weighs them otherwise (see
// index.Text), needs a new Version.
package analyzer

import (
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
)

// Version is the version of the steps. 1 counted headings above a chunk as often as the title.
const Version = 2

// Analyzer makes terms of texts in one language. It is not safe for concurrent use.
type Analyzer struct {
	language string // of words in Latin letters; empty for none
	simple   bool
	stems    map[string]string
	env      *snowballstem.Env
}

// Knows reports whether there is an analyzer for a text language.
func Knows(language string) bool {
	return language == Auto || language == Simple || stemmers[language] != nil
}

// New returns the analyzer of a language that Knows knows. That of Auto is for texts whose language is
// not known.
func New(language string) *Analyzer {
	if language == Auto {
		language = English
	}
	return &Analyzer{language: language, simple: language == Simple, stems: map[string]string{}, env: snowballstem.NewEnv("")}
}

func analyzersOf(languages []string) []*Analyzer {
	analyzers := make([]*Analyzer, len(languages))
	for n, language := range languages {
		analyzers[n] = New(language)
	}
	return analyzers
}

// Term is a term of a text.
type Term struct {
	Text     string
	Position int  // of its first word in the text, from 0
	Word     bool // it counts towards the length of the text
}

// maxStems bounds the stems that an Analyzer remembers.
const maxStems = 1 << 16

func (a *Analyzer) stem(word string) string {
	if stemmed, ok := a.stems[word]; ok {
		return stemmed
	}
	if len(a.stems) > maxStems {
		clear(a.stems)
	}
	stemmed := stem(word, a.languageOf(word), a.env)
	a.stems[word] = stemmed
	return stemmed
}

func (a *Analyzer) languageOf(word string) string {
	if a.simple {
		return ""
	}
	return languageOf(word, a.language)
}

// Terms yields the terms of a text in the order of their positions.
func (a *Analyzer) Terms(text string, yield func(Term)) {
	scan(text, func(t token) {
		switch t.kind {
		case word:
			yield(Term{a.stem(t.text), t.position, true})
			for _, other := range a.variants(t.text) {
				yield(Term{other, t.position, false})
			}
		case whole:
			yield(Term{a.stem(t.text), t.position, false})
		default:
			yield(Term{folded(t.text), t.position, t.kind == glyph})
		}
	})
}

// variants returns further terms of a word: a number without leading zeros, a Hebrew word without
// the prefix that may be one.
func (a *Analyzer) variants(word string) []string {
	if isDigit(word[0]) {
		if short := strings.TrimLeft(word, "0"); short != word && short != "" {
			return []string{short}
		}
		return nil
	}
	if word[0] < utf8.RuneSelf {
		return nil
	}
	if r, size := utf8.DecodeRuneInString(word); strings.ContainsRune("הובכלמש", r) && len(word) >= 4*size {
		return []string{folded(word[size:])}
	}
	return nil
}
