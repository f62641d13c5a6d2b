package lexical

import (
	_ "embed"
	"strings"
)

// Rank estimates how much a word tells about the topic of a text.
type Rank uint8

// The ranks.
const (
	Content Rank = iota // names, terms, whatever is not common
	Common              // one of the thousand most common English words, or hiragana
	Stop                // function words: articles, pronouns, question words
)

//go:embed stop_words.txt
var stopWords string

//go:embed common_words.txt
var commonWords string

// ranks maps the stems of common words, and unstemmed stop words, to their rank.
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

// Rank returns the rank of the word. Lists exist for English only; in other languages
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

// kana reports whether the token is hiragana only. In Japanese those are mostly function
// words. In UTF-8 hiragana is E3 81 80 to E3 82 9F.
func kana(folded []byte) bool {
	for i := 0; i+2 < len(folded); i += 3 {
		if folded[i] != 0xe3 || folded[i+1] < 0x81 || folded[i+1] > 0x82 || folded[i+1] == 0x82 && folded[i+2] > 0x9f {
			return false
		}
	}
	return true
}
