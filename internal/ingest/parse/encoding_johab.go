package parse

import (
	"unicode/utf8"

	"golang.org/x/text/encoding"
	textkorean "golang.org/x/text/encoding/korean"
	"golang.org/x/text/transform"
)

// johab is the encoding Johab of KS X 1001, annex 3 (code page 1361), for reading alone: two bytes have the letters of a syllable of
// Hangul, five bits for each, or a sign or Chinese character of KS X 1001 in another order.
type johab struct{}

// NewDecoder implements encoding.Encoding.
func (johab) NewDecoder() *encoding.Decoder { return &encoding.Decoder{Transformer: johabDecoder{}} }

// NewEncoder implements encoding.Encoding. Nothing is written in it.
func (johab) NewEncoder() *encoding.Encoder { return encoding.Nop.NewEncoder() }

// johabDecoder turns Johab into UTF-8. What is none becomes utf8.RuneError.
type johabDecoder struct{ transform.NopResetter }

// Transform implements transform.Transformer.
func (johabDecoder) Transform(dst, src []byte, atEOF bool) (written, read int, err error) {
	for read < len(src) {
		r, size := rune(src[read]), 1
		switch {
		case r < utf8.RuneSelf:
		case read+1 < len(src):
			if r = johabRune(src[read], src[read+1]); r != utf8.RuneError {
				size = 2
			}
		case !atEOF:
			return written, read, transform.ErrShortSrc
		default:
			r = utf8.RuneError
		}
		if written+utf8.RuneLen(r) > len(dst) {
			return written, read, transform.ErrShortDst
		}
		written += utf8.EncodeRune(dst[written:], r)
		read += size
	}
	return written, read, nil
}

// Letters of a syllable by their five bits: one more than their index among those of Unicode, 0 for none. The first of
// johabFinals is the syllable without a last letter.
var (
	johabInitials = [32]int{2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6, 8: 7, 9: 8, 10: 9, 11: 10, 12: 11, 13: 12, 14: 13, 15: 14, 16: 15, 17: 16, 18: 17, 19: 18, 20: 19}
	johabMedials  = [32]int{3: 1, 4: 2, 5: 3, 6: 4, 7: 5, 10: 6, 11: 7, 12: 8, 13: 9, 14: 10, 15: 11, 18: 12, 19: 13, 20: 14, 21: 15, 22: 16, 23: 17, 26: 18, 27: 19, 28: 20, 29: 21}
	johabFinals   = [32]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, 10: 10, 11: 11, 12: 12, 13: 13, 14: 14, 15: 15, 16: 16, 17: 17,
		19: 18, 20: 19, 21: 20, 22: 21, 23: 22, 24: 23, 25: 24, 26: 25, 27: 26, 28: 27, 29: 28}
)

// johabRune returns the character of two bytes, utf8.RuneError if they are none. Letters that are in no syllable are left out.
func johabRune(first, second byte) rune {
	const medials, finals, syllables = 21, 28, 0xac00
	if first >= 0x84 && first <= 0xd3 {
		bits := int(first)<<8 | int(second)
		initial, medial, final := johabInitials[bits>>10&31], johabMedials[bits>>5&31], johabFinals[bits&31]
		if initial == 0 || medial == 0 || final == 0 {
			return utf8.RuneError
		}
		return rune(syllables + ((initial-1)*medials+medial-1)*finals + final - 1)
	}
	const columns = 0x5e // of a row of KS X 1001, of which each first byte has two
	var row int
	column := int(second)
	switch {
	case first >= 0xd9 && first <= 0xde:
		row = 2 * int(first-0xd9)
	case first >= 0xe0 && first <= 0xf9:
		row = 2*int(first-0xe0) + 0x29
	default:
		return utf8.RuneError
	}
	switch {
	case second >= 0x31 && second <= 0x7e:
		column -= 0x31
	case second >= 0x91 && second <= 0xfe:
		column -= 0x43
	default:
		return utf8.RuneError
	}
	decoded, err := textkorean.EUCKR.NewDecoder().Bytes([]byte{byte(0xa1 + row + column/columns), byte(0xa1 + column%columns)})
	if r, size := utf8.DecodeRune(decoded); err == nil && size == len(decoded) {
		return r
	}
	return utf8.RuneError
}
