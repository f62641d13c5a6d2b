// Package sentence finds the ends of sentences by the punctuation of their script.
package sentence

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// Enders are the characters that may end a sentence. They are safe for concurrent
// use.
type Enders struct {
	ascii [utf8.RuneSelf]bool
	other map[rune]bool
	// unicode is set for the default enders, which any script may follow. After a
	// caller's enders a sentence starts only with an ASCII capital, as in the
	// reference data.
	unicode bool
}

// defaultEnders and wideEnders are used if the caller gives none. wideEnders need no
// white space after them.
const (
	defaultEnders = ".!?…؟۔।"
	wideEnders    = "。！？｡"
)

// NewEnders returns the enders of a list, the default ones if it is empty.
func NewEnders(list []string) *Enders {
	e := &Enders{other: map[rune]bool{}, unicode: len(list) == 0}
	for _, r := range strings.Join(list, "") {
		e.set(r)
	}
	if e.unicode {
		for _, r := range defaultEnders + wideEnders {
			e.set(r)
		}
	}
	return e
}

func (e *Enders) set(r rune) {
	if r < utf8.RuneSelf {
		e.ascii[r] = true
	} else {
		e.other[r] = true
	}
}

// End returns the end of the sentence that starts at start. end is the end of the
// trimmed text.
func (e *Enders) End(text string, start, end int) int {
	for at := start; at < end; {
		c := text[at]
		switch {
		case c < utf8.RuneSelf:
			at++
			if !e.ascii[c] {
				continue
			}
		case c < 0xC0: // in the middle of a character
			at++
			continue
		default:
			r, n := utf8.DecodeRuneInString(text[at:end])
			at += n
			if !e.other[r] {
				continue
			}
			if e.unicode && strings.ContainsRune(wideEnders, r) {
				return afterClosing(text, at, end)
			}
		}
		if e.boundary(text, at, end) && !abbreviation(text, start, at) {
			return at
		}
	}
	return end
}

// afterClosing returns the end of the wide enders, closing quotes and closing
// brackets from at on, which belong to the same sentence.
func afterClosing(text string, at, end int) int {
	for at < end {
		r, n := utf8.DecodeRuneInString(text[at:end])
		if !unicode.In(r, unicode.Pf, unicode.Pe) && !strings.ContainsRune(wideEnders, r) {
			break
		}
		at += n
	}
	return at
}

// boundary reports whether a sentence may end at at: the text ends, or white space
// and a capital follow. With the default enders the capital may be of any script, or
// a letter of a script without case.
func (e *Enders) boundary(text string, at, end int) bool {
	next, _ := textspan.Trim(text, at, end)
	if next == end {
		return true
	}
	if next == at {
		return false
	}
	if c := text[next]; c < utf8.RuneSelf || !e.unicode {
		return 'A' <= c && c <= 'Z'
	}
	r, _ := utf8.DecodeRuneInString(text[next:end])
	return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lo)
}

// abbreviation reports whether the word before the ender at the end of
// text[start:at] does not end a sentence: a title, initials, a number, am or pm.
func abbreviation(text string, start, at int) bool {
	_, n := utf8.DecodeLastRuneInString(text[start:at])
	word := text[start : at-n]
	for i := len(word); i > 0; {
		if textspan.TrailingSpace(word[:i]) > 0 {
			word = word[i:]
			break
		}
		_, n := utf8.DecodeLastRuneInString(word[:i])
		i -= n
	}
	switch word {
	case "Dr", "Mr", "Mrs", "Ms", "Prof", "Sr", "Jr", "am", "pm", "AM", "PM":
		return true
	}
	return word != "" && (dotted(word, 'a', 'z') || dotted(word, 'A', 'Z') || digits(word))
}

// dotted reports whether s is single letters from low to high with dots between
// them.
func dotted(s string, low, high byte) bool {
	for i := range len(s) {
		if i%2 == 1 && s[i] != '.' || i%2 == 0 && (s[i] < low || s[i] > high) {
			return false
		}
	}
	return len(s)%2 == 1
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
