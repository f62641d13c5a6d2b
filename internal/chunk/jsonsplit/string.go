package jsonsplit

import (
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// JSON strings in a source that is known to be valid JSON. They are written as
// JSON.stringify does: with the short escapes, \u00xx for other control
// characters, \ud8xx for half of a surrogate pair, and everything else unchanged,
// or as \uxxxx if only ASCII is wanted.

// plainPrefix returns how many bytes at the start of s are ASCII and need no escape in
// a JSON string.
func plainPrefix(s string) int {
	const (
		quotes      = '"' * textspan.LowBits
		backslashes = '\\' * textspan.LowBits
		spaces      = ' ' * textspan.LowBits
	)
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := textspan.Word(s[i:])
		q, b := w^quotes, w^backslashes
		odd := (w | (w-spaces)&^w | (q-textspan.LowBits)&^q | (b-textspan.LowBits)&^b) & textspan.HighBits
		if odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// readRune reads the code point at the start of s, the rest of a JSON string,
// and returns its length n in bytes. Half of a surrogate pair is returned unchanged. n
// is 0 if s starts with an invalid escape.
func readRune(s string) (r rune, n int) {
	if s[0] != '\\' {
		return utf8.DecodeRuneInString(s)
	}
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) && len(s) > 6 {
		if low, ok := hex4(s[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}

// hex4 reads the escape \uxxxx.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[2:6]) {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// appendRune appends a code point as written in a JSON string.
func appendRune(dst []byte, r rune, ascii bool) []byte {
	switch i := strings.IndexByte("\"\\\b\f\n\r\t", byte(r)); {
	case r < utf8.RuneSelf && i >= 0:
		return append(dst, '\\', `"\bfnrt`[i])
	case r < ' ', utf16.IsSurrogate(r), ascii && utf8.RuneSelf <= r && r < 0x10000:
		return appendHex4(dst, r)
	case ascii && r >= 0x10000:
		high, low := utf16.EncodeRune(r)
		return appendHex4(appendHex4(dst, high), low)
	}
	return utf8.AppendRune(dst, r)
}

func appendHex4(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

// runeSize returns the length of what appendRune appends, in UTF-16 units.
func runeSize(r rune, ascii bool) int {
	switch {
	case r < utf8.RuneSelf && strings.IndexByte("\"\\\b\f\n\r\t", byte(r)) >= 0:
		return 2
	case r < ' ', utf16.IsSurrogate(r):
		return 6
	case r < utf8.RuneSelf:
		return 1
	case ascii:
		return 6 * utf16.RuneLen(r)
	}
	return utf16.RuneLen(r)
}

// appendString appends the content of a JSON string, without its quotes.
func appendString(dst []byte, content string, ascii bool) []byte {
	for content != "" {
		n := plainPrefix(content)
		dst = append(dst, content[:n]...)
		content = content[n:]
		if content == "" {
			break
		}
		r, n := readRune(content)
		dst = appendRune(dst, r, ascii)
		content = content[n:]
	}
	return dst
}

// stringEnd returns the position after the string that starts at a position.
func stringEnd(text string, start int) int {
	for pos := start + 1; ; pos++ {
		pos += strings.IndexByte(text[pos:], '"')
		escapes := 0
		for text[pos-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return pos + 1
		}
	}
}

// arrayIndex reads a key that is an array index in JavaScript: a whole number below
// 2^32 - 1 without leading zeros. Such keys come before others, in numeric order.
func arrayIndex(key string) (uint32, bool) {
	if len(key) == 0 || len(key) > 10 || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	var n uint64
	for _, c := range []byte(key) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return uint32(n), n < 1<<32-1
}
