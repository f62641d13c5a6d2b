package pdftext

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// ligatures are the codes of ligatures in the encodings of TeX, OT1 and T1, which bitmap fonts keep.
var ligatures = map[rune]rune{
	0x0b: 'ﬀ', 0x0c: 'ﬁ', 0x0d: 'ﬂ', 0x0e: 'ﬃ', 0x0f: 'ﬄ',
	0x1b: 'ﬀ', 0x1c: 'ﬁ', 0x1d: 'ﬂ', 0x1e: 'ﬃ', 0x1f: 'ﬄ',
}

// accents are the codes of accents in OT1, as the marks that they are. TeX draws them before the letter and on it.
var accents = map[rune]rune{
	0x12: '\u0300', 0x13: '\u0301', 0x14: '\u030c', 0x15: '\u0306', 0x16: '\u0304', 0x17: '\u030a', 0x7f: '\u0308',
}

// sharpS is the code of ß in OT1. In T1 it is that of ı.
const sharpS = 0x19

// decodeTeX replaces the codes of the encodings of TeX that are not those of ASCII.
func (p *pageReader) decodeTeX() {
	chars := p.chars
	p.sin, p.cos = 0, 1
	accented := false // so that the encoding is OT1
	for i := 1; i+1 < len(chars); i++ {
		if r, ok := ligatures[chars[i]]; ok && isLigature(chars[i-1], chars[i], chars[i+1]) {
			chars[i] = r
		}
		if mark, ok := accents[chars[i]]; ok && p.overlap(i, i+1) {
			if r, ok := composed(chars[i+1], mark); ok {
				chars[i], chars[i+1] = 0, r
				accented = true
			}
		}
	}
	for i := 1; accented && i < len(chars); i++ {
		if chars[i] == sharpS && unicode.IsLetter(chars[i-1]) {
			chars[i] = 'ß'
		}
	}
}

// isLigature reports whether a code of ligatures stands where one may: in a word or at its beginning, and
// ff also at its end.
func isLigature(before, code, after rune) bool {
	if code == '\r' && after == '\n' {
		return false
	}
	if ligatures[code] == 'ﬀ' && unicode.IsLetter(before) {
		return true
	}
	return unicode.IsLetter(before) != unicode.IsSpace(before) && unicode.IsLetter(after)
}

// composed returns a letter with a mark as one character. It reports false if there is none.
func composed(letter, mark rune) (rune, bool) {
	if letter == 0x10 { // ı in OT1
		letter = 'i'
	}
	if !unicode.IsLetter(letter) {
		return 0, false
	}
	text := norm.NFC.String(string([]rune{letter, mark}))
	r, size := utf8.DecodeRuneInString(text)
	return r, size == len(text)
}

// overlap reports whether a character is drawn above or below the one before.
func (p *pageReader) overlap(index, next int) bool {
	a, ok := p.extent(index)
	b, known := p.extent(next)
	return ok && known && min(a.to, b.to)-max(a.from, b.from) > (a.to-a.from)/2
}
