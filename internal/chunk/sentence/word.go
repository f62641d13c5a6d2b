package sentence

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// The marks of clauses in scripts without spaces, coarsest first.
const (
	Semicolons = "；"
	Commas     = "，、：､﹐﹑"
)

// NextClause returns the position after the first of the marks in text[from:to], with the closing
// quotes and brackets that follow it, or -1 if there is none before to. A mark between two digits
// is part of a number.
func NextClause(text, marks string, from, to int) int {
	for at := from; at < to; {
		i := strings.IndexAny(text[at:to], marks)
		if i < 0 {
			return -1
		}
		mark := at + i
		_, n := utf8.DecodeRuneInString(text[mark:to])
		end := mark + n
		for end < to {
			r, n := utf8.DecodeRuneInString(text[end:to])
			if !unicode.In(r, unicode.Pe, unicode.Pf) {
				break
			}
			end += n
		}
		if end == to {
			return -1
		}
		before, _ := utf8.DecodeLastRuneInString(text[from:mark])
		after, _ := utf8.DecodeRuneInString(text[end:to])
		if !unicode.IsDigit(before) || !unicode.IsDigit(after) {
			return end
		}
		at = end
	}
	return -1
}

// Words iterates over the words of text[start:end] (Unicode annex 29) with the white space and
// the punctuation between them. Where the annex ends a word at every letter, some ends are left
// out: in Thai and Lao all but those before a vowel that is written first, which begins a syllable, and
// in Japanese those before a hiragana, which mostly belongs to the word before.
type Words struct {
	text       string
	start, end int
	words      *words.Iterator[string]
}

// NewWords returns the words of text[start:end].
func NewWords(text string, start, end int) *Words {
	return &Words{text: text, start: start, end: end, words: words.FromString(text[start:end])}
}

// Next returns the end of the next word. It must not be called at the end of the text.
func (w *Words) Next() int {
	for w.words.Next() {
		if at := w.start + w.words.End(); at >= w.end || w.ends(at) {
			return at
		}
	}
	return w.end
}

// ends reports whether a word may end at a position where the annex ends one.
func (w *Words) ends(at int) bool {
	next, _ := utf8.DecodeRuneInString(w.text[at:w.end])
	if next < utf8.RuneSelf {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(w.text[w.start:at])
	switch {
	case isIdeograph(next) && isIdeograph(last):
		return true
	case unicode.In(next, unicode.Pe, unicode.Pf) || terminal(next) || strings.ContainsRune(Semicolons+Commas, next):
		return false
	case unicode.In(last, unicode.Ps, unicode.Pi):
		return false
	case unicode.Is(unicode.Hiragana, next):
		return !unicode.In(last, unicode.Hiragana, unicode.Han, unicode.Katakana)
	case unicode.In(next, unicode.Thai, unicode.Lao) && unicode.In(last, unicode.Thai, unicode.Lao):
		return isLeadingVowel(next) || last == 'ๆ' || last == 'ฯ' || last == 'ໆ'
	case last == '\u17d2' || last == '\u1039': // Khmer and Burmese letters that are written below the one before
		return false
	}
	return textspan.IsClusterBorder(w.text, w.start, at)
}

func isIdeograph(r rune) bool { return 0x3400 <= r && r <= 0x9fff }

// isLeadingVowel reports whether r is a vowel of Thai or Lao that stands before its consonant.
func isLeadingVowel(r rune) bool { return 0xe40 <= r && r <= 0xe44 || 0xec0 <= r && r <= 0xec4 }

// unspaced reports whether r is a letter of a script without spaces between words.
func unspaced(r rune) bool {
	return r >= 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// StartsUnspaced reports whether a text begins with a letter of a script without spaces between
// words.
func StartsUnspaced(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unspaced(r)
}

// IsUnspacedBorder reports whether text[:end] ends with, or text[start:] begins with, a letter or an
// ender of a script without spaces between words.
func IsUnspacedBorder(text string, end, start int) bool {
	if text[end-1] < utf8.RuneSelf && text[start] < utf8.RuneSelf {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(text[:end])
	next, _ := utf8.DecodeRuneInString(text[start:])
	return unspaced(last) || unspaced(next) || last >= 0x3000 && terminal(last)
}

// IsSpaced reports whether a text has no letters, sentence ends or clause marks of scripts
// without spaces between words. It may be false for other texts that are not in Latin,
// Greek or Cyrillic letters.
func IsSpaced(s string) bool {
	for len(s) > 0 {
		if len(s) >= 8 && textspan.Word(s)&textspan.HighBits == 0 {
			s = s[8:]
			continue
		}
		if s[0] >= 0xd6 { // the first byte of U+0580 and later
			r, n := utf8.DecodeRuneInString(s)
			if n == 1 || r < 0x2000 || 0x2e80 <= r && r < 0x10000 && r != '\ufeff' && r != '\ufe0f' || r >= 0x10000 && r < 0x1f000 || r >= 0x20000 || terminal(r) {
				return false
			}
			s = s[n:]
			continue
		}
		s = s[1:]
	}
	return true
}
