package textspan

import (
	"unicode"
	"unicode/utf8"
)

// Trim returns the bounds of text[start:end] without white space at its ends.
func Trim(text string, start, end int) (int, int) {
	for start < end {
		n := LeadingSpace(text[start:end])
		if n == 0 {
			break
		}
		start += n
	}
	for start < end {
		n := TrailingSpace(text[start:end])
		if n == 0 {
			break
		}
		end -= n
	}
	return start, end
}

// LeadingSpace returns the length in bytes of the white space character at the start
// of s, 0 if there is none. s must not be empty.
func LeadingSpace(s string) int {
	if s[0] < utf8.RuneSelf {
		return b2i(asciiSpace(s[0]))
	}
	if r, n := utf8.DecodeRuneInString(s); IsSpace(r) {
		return n
	}
	return 0
}

// TrailingSpace returns the length in bytes of the white space character at the end
// of s, 0 if there is none. s must not be empty.
func TrailingSpace(s string) int {
	if c := s[len(s)-1]; c < utf8.RuneSelf {
		return b2i(asciiSpace(c))
	}
	if r, n := utf8.DecodeLastRuneInString(s); IsSpace(r) {
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

// IsSpace reports whether r is white space for JavaScript's trim. Unlike
// unicode.IsSpace this includes the byte order mark and excludes U+0085.
func IsSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiSpace(byte(r))
	}
	return r == '\u2028' || r == '\u2029' || r == '\ufeff' || unicode.Is(unicode.Zs, r)
}

// IsBlank reports whether s has only white space.
func IsBlank(s string) bool {
	start, end := Trim(s, 0, len(s))
	return start == end
}
