package chunk

import (
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// source is a text that is measured in UTF-16 code units, or by count.
type source struct {
	text  string
	ascii bool // then units are bytes
	count func(string) int
}

func newSource(text string) source { return source{text: text, ascii: isASCII(text)} }

// size returns the length of text[start:end].
func (s *source) size(start, end int) int {
	if s.count != nil {
		return s.count(s.text[start:end])
	}
	if s.ascii {
		return end - start
	}
	return units(s.text[start:end])
}

func isASCII(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		if word(s)&highBits != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const (
	highBits = 0x8080808080808080
	lowBits  = 0x0101010101010101
)

// word returns the first eight bytes of s; the compiler makes it one load.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// units returns the length of valid UTF-8 in UTF-16 code units: one for every
// byte that starts a code point, and one more for those of four bytes, which
// are surrogate pairs in UTF-16. Eight bytes are looked at at once.
func units(s string) int {
	n := 0
	for ; len(s) >= 8; s = s[8:] {
		w := word(s)
		continuation := w >> 7 &^ (w >> 6) & lowBits                   // 10xxxxxx
		fourBytes := w >> 7 & (w >> 6) & (w >> 5) & (w >> 4) & lowBits // 1111xxxx
		n += 8 - bits.OnesCount64(continuation) + bits.OnesCount64(fourBytes)
	}
	for i := range len(s) {
		if s[i]&0xC0 != 0x80 {
			n++
		}
		if s[i] >= 0xF0 {
			n++
		}
	}
	return n
}

// trim returns the bounds of text[start:end] without white space at its ends.
func trim(text string, start, end int) (int, int) {
	for start < end {
		n := leadingSpace(text[start:end])
		if n == 0 {
			break
		}
		start += n
	}
	for start < end {
		n := trailingSpace(text[start:end])
		if n == 0 {
			break
		}
		end -= n
	}
	return start, end
}

// leadingSpace returns the length of the white space character that s starts
// with, 0 if it starts with another one.
func leadingSpace(s string) int {
	if s[0] < utf8.RuneSelf {
		return b2i(asciiSpace(s[0]))
	}
	if r, n := utf8.DecodeRuneInString(s); isSpace(r) {
		return n
	}
	return 0
}

func trailingSpace(s string) int {
	if c := s[len(s)-1]; c < utf8.RuneSelf {
		return b2i(asciiSpace(c))
	}
	if r, n := utf8.DecodeLastRuneInString(s); isSpace(r) {
		return n
	}
	return 0
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func asciiSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// isSpace reports whether r is white space as JavaScript's trim knows it, which
// other than unicode.IsSpace has the byte order mark and not U+0085.
func isSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiSpace(byte(r))
	}
	return r == '\u2028' || r == '\u2029' || r == '\ufeff' || unicode.Is(unicode.Zs, r)
}
