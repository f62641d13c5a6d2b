// Package sentence finds the ends of sentences, clauses and words by the punctuation and the
// letters of their script.
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
	ascii [utf8.RuneSelf]bool // with the straight quote if unicode is set
	other map[rune]bool       // of the caller
	// unicode is set for the default enders, which are those of every script. After a
	// caller's enders a sentence starts only with an ASCII capital, as in the
	// reference data.
	unicode bool
	// closing is set if quotes and brackets may close after . ! ? and …, which end no sentence
	// then in the reference data.
	closing bool
	// wide is set for the enders of scripts without capitals alone.
	wide bool
}

// Default returns the enders of an empty list, after which quotes and brackets may close:
// He said "No." Then he left.
func Default() *Enders {
	e := NewEnders(nil)
	e.closing = true
	return e
}

// Wide returns the enders of scripts without capitals: 。 ！ ？ । ؟ and the like, and . ! ? after a letter
// of such a script. Text in Latin, Greek or Cyrillic letters has none.
func Wide() *Enders {
	e := &Enders{unicode: true, closing: true, wide: true}
	for _, r := range `.!?"` {
		e.set(r)
	}
	return e
}

// NewEnders returns the enders of a list. If it is empty, they are . ! ? … and the other
// characters with the Unicode property Sentence_Terminal.
func NewEnders(list []string) *Enders {
	e := &Enders{other: map[rune]bool{}, unicode: len(list) == 0}
	for _, r := range strings.Join(list, "") {
		e.set(r)
	}
	if e.unicode {
		for _, r := range `.!?"` {
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
	quotes := 0 // straight ones
	for at := start; at < end; {
		for at < end && text[at] < utf8.RuneSelf && !e.ascii[text[at]] {
			at++
		}
		if at == end {
			break
		}
		c := text[at]
		switch {
		case c < utf8.RuneSelf:
			at++
			if c == '"' && e.unicode {
				quotes++
				continue
			}
		case c < 0xC0: // in the middle of a character
			at++
			continue
		default:
			r, n := utf8.DecodeRuneInString(text[at:end])
			at += n
			if e.unicode && terminal(r) {
				if e.full(text, start, at, end, r) {
					after, closed := afterClosing(text, at, end, quotes)
					if !closed || !goesOn(text, after, end) {
						return after
					}
					quotes += strings.Count(text[at:after], `"`)
					at = after
				}
				continue
			}
			if e.unicode && r != '…' || !e.unicode && !e.other[r] {
				continue
			}
		}
		if !e.unicode {
			if e.boundary(text, at, end) && !knownAbbreviation(wordBefore(text, start, at)) {
				return at
			}
			continue
		}
		after := at
		if e.closing || c == '!' || c == '?' {
			after, _ = afterClosing(text, at, end, quotes)
		}
		if (c == '!' || c == '?') && between(text, start, at-1, after, end) {
			return after
		}
		if !e.closing {
			after = at
		}
		if e.wide && !afterCaseless(text, start, at-1) {
			continue
		}
		if e.boundary(text, after, end) && (c != '.' || after != at || !e.abbreviation(wordBefore(text, start, at))) {
			return after
		}
		quotes += strings.Count(text[at:after], `"`)
		at = after
	}
	return end
}

// full reports whether r, which ends at at, is a full stop. The wide one also separates the
// digits of numbers.
func (e *Enders) full(text string, start, at, end int, r rune) bool {
	if r != '．' && r != '﹒' {
		return true
	}
	if at < end {
		if next, _ := utf8.DecodeRuneInString(text[at:end]); !unicode.IsLetter(next) || next < 0x2e80 {
			return unicode.IsSpace(next) || unicode.In(next, unicode.Pe, unicode.Pf)
		}
	}
	before, _ := utf8.DecodeLastRuneInString(text[start : at-utf8.RuneLen(r)])
	return !unicode.IsDigit(before) && !unicode.Is(unicode.Latin, before)
}

// terminal reports whether r, which is not ASCII, ends sentences in its script and need not be
// followed by white space.
func terminal(r rune) bool {
	switch {
	case r < 0x589, 0x2010 <= r && r < 0x203c, 0x3003 <= r && r <= 0xa4fe, 0xac00 <= r && r <= 0xd7ff:
		return false
	case r == '…' || r == '\u2024': // may also stand within a sentence
		return false
	}
	return unicode.Is(unicode.STerm, r)
}

// afterClosing returns the end of the terminals, closing quotes and closing brackets from
// at on, which belong to the same sentence, and whether there are quotes or brackets. A
// straight quote closes if an odd number of them stands before.
func afterClosing(text string, at, end, quotes int) (after int, closed bool) {
	for at < end {
		r, n := utf8.DecodeRuneInString(text[at:end])
		switch {
		case r == '!' || r == '?' || r >= utf8.RuneSelf && terminal(r):
		case r == '"' && quotes%2 == 1:
			closed = true
			quotes++
		case r == ')' || r == ']' || r == '\'' || r >= utf8.RuneSelf && unicode.In(r, unicode.Pf, unicode.Pe):
			closed = true
		case unicode.IsSpace(r) && closesApart(text, at+n, end): // « Bien. »
			_, quote := utf8.DecodeRuneInString(text[at+n : end])
			closed, n = true, n+quote
		default:
			return at, closed
		}
		at += n
	}
	return at, closed
}

// closesApart reports whether a French quotation mark at at closes, after a space.
func closesApart(text string, at, end int) bool {
	r, n := utf8.DecodeRuneInString(text[at:end])
	if r != '»' && r != '›' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(text[at+n : end])
	return at+n == end || unicode.IsSpace(next) || unicode.IsPunct(next)
}

// goesOn reports whether the sentence goes on at once after a closing quote or bracket, with a
// particle or a small letter: 「はい。」と言った.
func goesOn(text string, at, end int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:end])
	return at < end && (unicode.Is(unicode.Hiragana, r) || unicode.IsLower(r))
}

// boundary reports whether a sentence may end at at: the text ends, or white space
// and a capital follow. With the default enders the capital may be of any script, or
// a letter of a script without case, and quotes and brackets may open before it.
func (e *Enders) boundary(text string, at, end int) bool {
	next, _ := textspan.Trim(text, at, end)
	if next == end {
		return true
	}
	if next == at {
		return false
	}
	if !e.unicode {
		return 'A' <= text[next] && text[next] <= 'Z'
	}
	for next < end {
		r, n := utf8.DecodeRuneInString(text[next:end])
		if r < utf8.RuneSelf {
			switch r {
			case '"', '\'', '(', '[', '*', '_':
				next += n
				continue
			}
			return 'A' <= r && r <= 'Z'
		}
		if !unicode.In(r, unicode.Pi, unicode.Ps) && r != '¿' && r != '¡' {
			return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lo)
		}
		next += n
		next, _ = textspan.Trim(text, next, end)
	}
	return false
}

// wordBefore returns what stands before the ender at the end of text[start:at], from the last
// white space on.
func wordBefore(text string, start, at int) string {
	_, n := utf8.DecodeLastRuneInString(text[start:at])
	word := text[start : at-n]
	for i := len(word); i > 0; {
		if c := word[i-1]; c > ' ' && c < utf8.RuneSelf {
			i--
			continue
		}
		if textspan.TrailingSpace(word[:i]) > 0 {
			return word[i:]
		}
		_, n := utf8.DecodeLastRuneInString(word[:i])
		i -= n
	}
	return word
}

// between reports whether letters of scripts without spaces end at before and begin at after.
func between(text string, start, before, after, end int) bool {
	if before == start || after == end {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(text[start:before])
	next, _ := utf8.DecodeRuneInString(text[after:end])
	return unspaced(last) && unspaced(next)
}

// afterCaseless reports whether a letter or a mark of a script without capitals ends at at.
func afterCaseless(text string, start, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[start:at])
	return r >= 0x590 && unicode.In(r, unicode.Lo, unicode.M)
}

// Next returns the end of the sentence that starts at from and the start of the next one in
// text[from:to], after the white space between them. It returns -1, -1 if there is no other
// one.
func (e *Enders) Next(text string, from, to int) (end, next int) {
	end = e.End(text, from, to)
	if next, _ = textspan.Trim(text, end, to); next >= to {
		return -1, -1
	}
	return end, next
}
