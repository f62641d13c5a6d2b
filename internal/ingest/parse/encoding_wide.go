package parse

import (
	"bytes"
	"unicode"

	"golang.org/x/text/encoding"
	textunicode "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// signedEncoding returns the encoding that signs in the content itself tell: a byte order mark of UTF-16 or UTF-32, characters
// of ASCII or of few scripts in units of two or four bytes, and the escape sequences of encodings in seven bits. It returns nil if
// there are none. Such content may be valid UTF-8.
func signedEncoding(content []byte) (encoding.Encoding, string) {
	sample := content[:min(len(content), encodingSample)]
	for _, order := range []utf32.Endianness{utf32.LittleEndian, utf32.BigEndian} {
		mark := []byte("\xff\xfe\x00\x00")
		if order == utf32.BigEndian {
			mark = []byte("\x00\x00\xfe\xff")
		}
		from := utf32.UTF32(order, utf32.UseBOM)
		if len(content)%4 == 0 && (bytes.HasPrefix(content, mark) || isWideText(sample, utf32.UTF32(order, utf32.IgnoreBOM), 4)) {
			return from, "utf-32"
		}
	}
	little, big := textunicode.UTF16(textunicode.LittleEndian, textunicode.UseBOM), textunicode.UTF16(textunicode.BigEndian, textunicode.UseBOM)
	switch {
	case bytes.HasPrefix(content, []byte("\xff\xfe")), bytes.HasPrefix(content, []byte("\xfe\xff")), looksLikeUTF16(content, 0):
		return little, "utf-16"
	case looksLikeUTF16(content, 1):
		return big, "utf-16"
	case isWideText(sample, textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM), 2):
		return little, "utf-16"
	case isWideText(sample, textunicode.UTF16(textunicode.BigEndian, textunicode.IgnoreBOM), 2):
		return big, "utf-16"
	}
	return shiftedEncoding(content)
}

// isSigned reports whether signs in the content tell its encoding, see signedEncoding.
func isSigned(content []byte) bool {
	known, _ := signedEncoding(content)
	return known != nil
}

// leastWide is the number of units of a text in units of two or four bytes without a byte order mark.
const leastWide = 16

// isWideText reports whether content, in units of so many bytes, is a text: it has control bytes, which a text in units of one
// byte has not, every unit is a character of a text, nearly all letters are of one script, and there are
// spaces or stops between them, which no other order of the bytes has.
func isWideText(content []byte, from encoding.Encoding, unit int) bool {
	if len(content) < leastWide*unit || len(content)%unit != 0 || !bytes.ContainsFunc(content, isControl) {
		return false
	}
	decoded, err := from.NewDecoder().Bytes(content)
	if err != nil {
		return false
	}
	letters, between := 0, 0
	scripts := map[*unicode.RangeTable]int{}
	for at, r := range string(decoded) {
		switch {
		case r == ' ', r == '\n', r == '。', r == '、', r == '，':
			between++
		case r == '\r', r == '\t', r == '\ufeff' && at == 0:
		case r == unicode.ReplacementChar, !unicode.IsGraphic(r):
			return false
		case unicode.IsLetter(r):
			letters++
			for _, script := range wideScripts {
				if unicode.IsOneOf(script, r) {
					scripts[script[0]]++
				}
			}
		}
	}
	most := 0
	for _, n := range scripts {
		most = max(most, n)
	}
	return between*100 >= letters && letters > 0 && most*10 >= letters*9
}

// wideScripts are the scripts of texts in UTF-16 and UTF-32, together where a text has several.
var wideScripts = [][]*unicode.RangeTable{
	{unicode.Latin}, {unicode.Cyrillic}, {unicode.Greek}, {unicode.Hebrew}, {unicode.Arabic}, {unicode.Thai}, {unicode.Devanagari},
	{unicode.Hangul}, {unicode.Han, unicode.Hiragana, unicode.Katakana}, {unicode.Armenian}, {unicode.Georgian}, {unicode.Bengali}, {unicode.Tamil},
}
