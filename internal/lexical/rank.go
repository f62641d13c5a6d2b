package lexical

import (
	_ "embed"
	"strings"
)

// Rank says how much a word tells about what a text is about.
type Rank uint8

// The ranks.
const (
	Content Rank = iota // names, terms, whatever is not common
	Common              // among the commonest thousand English words, or a kana
	Stop                // articles, pronouns, question words: grammar
)

//go:embed stop_words.txt
var stopWords string

//go:embed common_words.txt
var commonWords string

// ranks maps stems of common words, and stop words as they are, to their rank.
var ranks = func() map[string]Rank {
	m := make(map[string]Rank)
	for _, w := range strings.Fields(commonWords) {
		m[string(stem([]byte(w)))] = Common
	}
	for _, w := range strings.Fields(stopWords) {
		m[w] = Stop
	}
	return m
}()

// Rank returns how common the word is. English has lists; in other languages
// every word of two letters or more is Content.
func (t Token) Rank() Rank {
	switch t.Form {
	case Word:
		if len(t.Folded) == 1 && !isDigit(t.Folded[0]) {
			return Stop
		}
		if ranks[string(t.Folded)] == Stop {
			return Stop
		}
		if ranks[string(t.Stem)] == Common {
			return Common
		}
		return Content
	default:
		if kana(t.Folded) {
			return Common
		}
		return Content
	}
}

// kana reports whether the token is hiragana alone, which in Japanese is mostly
// grammar. In UTF-8 hiragana is E3 81 80 to E3 82 9F.
func kana(folded []byte) bool {
	for i := 0; i+2 < len(folded); i += 3 {
		if folded[i] != 0xe3 || folded[i+1] < 0x81 || folded[i+1] > 0x82 || folded[i+1] == 0x82 && folded[i+2] > 0x9f {
			return false
		}
	}
	return true
}
