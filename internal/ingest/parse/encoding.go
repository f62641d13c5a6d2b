package parse

import (
	"bytes"
	"cmp"
	"mime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// encodingSample is the number of bytes by which an encoding is recognized.
const encodingSample = 64 << 10

// encodingOf recognizes the encoding of a text that is not UTF-8: UTF-16, UTF-32 and encodings in seven bits by their signs, Shift_JIS
// and EUC-JP by their kana, windows-1252, of which Latin-1 is a part, and others for Latin letters by words of European languages,
// and others by the letters of their script. It returns nil if the encoding is not certain.
func encodingOf(content []byte) (encoding.Encoding, string) {
	if known, name := signedEncoding(content); known != nil {
		return known, name
	}
	sample := sampleOf(content)
	if known, name := latinOf(sample); known != nil {
		return known, name
	}
	for _, label := range []string{"shift_jis", "euc-jp"} {
		known, name := encodingNamed(label)
		decoded, err := known.NewDecoder().Bytes(sample)
		if err == nil && isJapanese(string(decoded)) {
			return known, name
		}
	}
	return scriptOf(sample)
}

// sampleOf returns the part of a text by which its encoding is recognized, around its first byte outside of ASCII.
func sampleOf(content []byte) []byte {
	sample := content
	if first := bytes.IndexFunc(content, func(r rune) bool { return r >= utf8.RuneSelf }); first > 0 {
		line := bytes.LastIndexByte(content[:first], '\n') + 1
		sample = content[max(line, first-encodingSample/2):]
	}
	return sample[:min(len(sample), encodingSample)]
}

// likeliest returns the names of up to two encodings that a text may be in, the likeliest first. It is for a text whose encoding is
// not certain.
func likeliest(content []byte) []string {
	sample := sampleOf(content)
	type guess struct {
		name, text string
		share      float64
	}
	var guesses []guess
	add := func(label string, share func(text string) float64) {
		known, name := encodingNamed(label)
		decoded, err := known.NewDecoder().Bytes(sample)
		text := strings.TrimRight(string(decoded), string(utf8.RuneError)) // one may be cut at the end
		if err != nil || strings.ContainsRune(text, utf8.RuneError) || strings.ContainsFunc(text, isControl) {
			return
		}
		g := guess{name, text, share(text)}
		if at := slices.IndexFunc(guesses, func(g guess) bool { return g.text == text }); at < 0 {
			guesses = append(guesses, g)
		} else if g.share > guesses[at].share {
			guesses[at] = g
		}
	}
	for _, s := range scripts {
		s.atLeast = 1
		add(s.encoding, func(text string) float64 { return s.shareOf(text) / s.share })
	}
	for _, g := range latinGuesses(sample) {
		add(g.name, func(string) float64 { return g.score })
	}
	for _, label := range []string{"shift_jis", "euc-jp"} {
		add(label, func(text string) float64 {
			return script{letters: unicode.Han, frequent: chinese + taiwan + kanji, atLeast: 1}.shareOf(text) / 0.4
		})
	}
	slices.SortStableFunc(guesses, func(a, b guess) int { return cmp.Compare(b.share, a.share) })
	var names []string
	for _, g := range guesses[:min(len(guesses), 2)] {
		if g.share > 0 {
			names = append(names, g.name)
		}
	}
	return names
}

// declaredEncoding returns the encoding that the parameter charset of a content type names, nil
// if it names none that is known, or UTF-8.
func declaredEncoding(contentType string) (encoding.Encoding, string) {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || parameters["charset"] == "" {
		return nil, ""
	}
	known, name := encodingNamed(parameters["charset"])
	if name == "utf-8" || name == "replacement" || name == "x-user-defined" {
		return nil, ""
	}
	return known, name
}

// oldEncodings are those that browsers do not read, by their labels.
var oldEncodings = map[string]struct {
	encoding encoding.Encoding
	name     string
}{
	"ibm850": {charmap.CodePage850, "ibm850"}, "cp850": {charmap.CodePage850, "ibm850"}, "850": {charmap.CodePage850, "ibm850"},
	"ibm852": {charmap.CodePage852, "ibm852"}, "cp852": {charmap.CodePage852, "ibm852"}, "852": {charmap.CodePage852, "ibm852"},
	"ibm857": {ibm857, "ibm857"}, "cp857": {ibm857, "ibm857"}, "857": {ibm857, "ibm857"},
	"ibm775": {ibm775, "ibm775"}, "cp775": {ibm775, "ibm775"}, "775": {ibm775, "ibm775"},
	"x-mac-ce": {macCentral, "x-mac-ce"}, "maccentraleurope": {macCentral, "x-mac-ce"}, "macce": {macCentral, "x-mac-ce"},
	"johab": {johab{}, "johab"}, "cp1361": {johab{}, "johab"}, "ms1361": {johab{}, "johab"},
}

// encodingNamed returns the encoding with a label and its name, nil if none is known.
func encodingNamed(label string) (encoding.Encoding, string) {
	if old, ok := oldEncodings[strings.ToLower(strings.TrimSpace(label))]; ok {
		return old.encoding, old.name
	}
	return charset.Lookup(label)
}

// decodedAs returns content in the encoding that its content type declares. It reports false if
// there is none, or if the content is not in it.
func decodedAs(contentType string, content []byte) (text, name string, ok bool) {
	known, name := declaredEncoding(contentType)
	if known == nil || utf8.Valid(content) && !isShifted(name) {
		return "", "", false
	}
	decoded, ok := wholeText(known, content)
	if !ok {
		return "", "", false
	}
	return string(decoded), name, true
}

// isControl reports whether a character is one of the control characters that no text has.
func isControl(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' && r != '\f'
}

// isJapanese reports whether a text has no characters that cannot be decoded, apart from
// one cut at its end, and at least a fifth of kana among its characters outside of ASCII, most of which do not stand within
// words of Latin letters.
func isJapanese(text string) bool {
	kana, other, within := 0, 0, 0
	before := ' '
	for at, r := range text {
		if isBasicLetter(before) && r >= utf8.RuneSelf {
			within++
		}
		before = r
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
	return kana > 0 && kana*4 >= other && within*2 <= kana+other
}

// europeanSigns are the characters of windows-1252 besides letters that texts contain.
const europeanSigns = "€‚„…‰‹‘’“”•–—™›\u00a0¡§©ª«®°±²³´µ¶·º»¼½¾¿£¢¥¤×÷\u00ad"

// afterWords are signs of windows-1252 that no word begins with. In other encodings they are letters.
const afterWords = "¶¹³±¼¾"

// isBasicLetter reports whether a character is a letter of ASCII.
func isBasicLetter(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }

// isEuropean reports whether a text decoded as windows-1252 or another encoding of Latin letters
// looks like words: letters with accents stand between others, in rows of at most longestRow, and are few; no
// capital with an accent follows a small letter, signs do not stand within words, and no mark that opens a quotation or a list ends one.
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
			if isLetter && strings.ContainsRune(afterWords, before) {
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
			if signed = unicode.IsLetter(before); signed && strings.ContainsRune("‚„•", r) {
				return false
			}
		default:
			return false
		}
		before = r
	}
	return accented*3 <= plain+3
}
