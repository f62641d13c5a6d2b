package textspan

import (
	"math/bits"
	"unicode/utf8"
)

// IsASCII reports whether s has only ASCII characters.
func IsASCII(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		if Word(s)&HighBits != 0 {
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

// The highest and the lowest bit of each byte of a word.
const (
	HighBits = 0x8080808080808080
	LowBits  = 0x0101010101010101
)

// Word returns the first eight bytes of s; the compiler makes it one load.
func Word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Units returns the length of valid UTF-8 in UTF-16 code units: one for every
// byte that starts a code point, and one more for those of four bytes, which
// are surrogate pairs in UTF-16. It reads eight bytes at a time.
func Units(s string) int {
	n := 0
	for ; len(s) >= 8; s = s[8:] {
		w := Word(s)
		continuation := w >> 7 &^ (w >> 6) & LowBits                   // 10xxxxxx
		fourBytes := w >> 7 & (w >> 6) & (w >> 5) & (w >> 4) & LowBits // 1111xxxx
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
