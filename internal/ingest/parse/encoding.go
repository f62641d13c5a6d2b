package parse

import (
	"bytes"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	textunicode "golang.org/x/text/encoding/unicode"
)

// encodingSample is the number of bytes by which an encoding is recognized.
const encodingSample = 64 << 10

// encodingOf recognizes the encoding of a text that is not UTF-8: UTF-16 by its byte order
// mark, Shift_JIS and EUC-JP by their kana, windows-1252, of which Latin-1 is a part, windows-1250
// and windows-1254 by words of European languages, and others by the letters of their script. It
// returns nil if the encoding is not certain.
func encodingOf(content []byte) (encoding.Encoding, string) {
	if isUTF16(content) {
		order := textunicode.LittleEndian
		if looksLikeUTF16(content, 1) {
			order = textunicode.BigEndian
		}
		return textunicode.UTF16(order, textunicode.UseBOM), "utf-16"
	}
	sample := content
	if first := bytes.IndexFunc(content, func(r rune) bool { return r >= utf8.RuneSelf }); first > 0 {
		line := bytes.LastIndexByte(content[:first], '\n') + 1
		sample = content[max(line, first-encodingSample/2):]
	}
	sample = sample[:min(len(sample), encodingSample)]
	for _, label := range []string{"shift_jis", "euc-jp"} {
		known, name := charset.Lookup(label)
		decoded, err := known.NewDecoder().Bytes(sample)
		if err == nil && isJapanese(string(decoded)) {
			return known, name
		}
	}
	if known, name := latinOf(sample); known != nil {
		return known, name
	}
	return scriptOf(sample)
}

// declaredEncoding returns the encoding that the parameter charset of a content type names, nil
// if it names none that is known, or UTF-8.
func declaredEncoding(contentType string) (encoding.Encoding, string) {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || parameters["charset"] == "" {
		return nil, ""
	}
	known, name := charset.Lookup(parameters["charset"])
	if name == "utf-8" || name == "replacement" || name == "x-user-defined" {
		return nil, ""
	}
	return known, name
}

// decodedAs returns content in the encoding that its content type declares. It reports false if
// there is none, or if the content is not in it.
func decodedAs(contentType string, content []byte) (text, name string, ok bool) {
	known, name := declaredEncoding(contentType)
	if known == nil || utf8.Valid(content) && name != "iso-2022-jp" {
		return "", "", false
	}
	decoded, err := known.NewDecoder().Bytes(content)
	if err != nil || bytes.ContainsRune(decoded, utf8.RuneError) || bytes.ContainsFunc(decoded, isControl) {
		return "", "", false
	}
	return string(decoded), name, true
}

// isControl reports whether a character is one of the control characters that no text has.
func isControl(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' && r != '\f'
}

// isJapanese reports whether a text has no characters that cannot be decoded, apart from
// one cut at its end, and at least a fifth of kana among its characters outside of ASCII.
func isJapanese(text string) bool {
	kana, other := 0, 0
	for at, r := range text {
		switch {
		case r < utf8.RuneSelf:
		case r == utf8.RuneError && at < len(text)-utf8.RuneLen(r), r >= 0xFF61 && r <= 0xFF9F:
			return false // half-width kana are what letters of windows-1252 look like
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		default:
			other++
		}
	}
	return kana > 0 && kana*4 >= other
}

// europeanSigns are the characters of windows-1252 besides letters that texts contain.
const europeanSigns = "€‚„…‰‹‘’“”•–—™›\u00a0¡§©ª«®°±²³´µ¶·º»¼½¾¿£¢¥¤×÷\u00ad"

// isEuropean reports whether a text decoded as windows-1252 or another encoding of Latin letters
// looks like words: letters with accents stand between others, in rows of at most longestRow, and are few; no
// capital with an accent follows a small letter, and signs do not stand within words.
func isEuropean(text string, longestRow int) bool {
	accented, plain, row := 0, 0, 0
	var before rune
	signed := false // the last character was a sign right after a letter
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			row = 0
			isLetter := unicode.IsLetter(r)
			if isLetter {
				plain++
			}
			if r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' {
				return false
			}
			if signed && isLetter && before != '’' && before != '\u00ad' && before != '·' && before != '—' && before != '–' && before != '…' {
				return false
			}
			signed = false
		case unicode.IsLetter(r) && r != 'ÿ': // 0xFF, which is in many files that are no text
			accented++
			if row++; row > longestRow || unicode.IsUpper(r) && unicode.IsLower(before) {
				return false
			}
			signed = false
		case strings.ContainsRune(europeanSigns, r):
			row = 0
			signed = unicode.IsLetter(before)
		default:
			return false
		}
		before = r
	}
	return accented*3 <= plain+3
}
