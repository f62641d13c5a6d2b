package parse

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/emersion/go-message/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	textkorean "golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/transform"
)

// shiftedEncodings are the names of the encodings that shiftedEncoding recognizes. Their texts are ASCII too.
var shiftedEncodings = []string{"iso-2022-jp", "iso-2022-kr", "hz-gb-2312"}

// Messages that declare one are read in it, headers too.
func init() {
	charset.RegisterEncoding("iso-2022-kr", iso2022KR{})
	charset.RegisterEncoding("hz-gb-2312", simplifiedchinese.HZGB2312)
}

// shiftedEncoding returns the encoding of a text of bytes of ASCII alone that sequences of them shift to Japanese (ISO-2022-JP, RFC 1468),
// Korean (ISO-2022-KR, RFC 1557) or Chinese (HZ, RFC 1843). It returns nil for other texts.
func shiftedEncoding(content []byte) (encoding.Encoding, string) {
	switch {
	case bytes.Contains(content, []byte("\x1b$B")), bytes.Contains(content, []byte("\x1b$@")):
		if _, ok := wholeText(japanese.ISO2022JP, content); ok {
			return japanese.ISO2022JP, shiftedEncodings[0]
		}
	case bytes.Contains(content, koreanEscape):
		if text, ok := wholeText(iso2022KR{}, content); ok && bytes.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Hangul, r) }) {
			return iso2022KR{}, shiftedEncodings[1]
		}
	case bytes.Contains(content, []byte("~{")) && bytes.Contains(content, []byte("~}")):
		// Programs have these signs too, and what is between them would be rare characters.
		text, ok := wholeText(simplifiedchinese.HZGB2312, content)
		if likely := (script{letters: unicode.Han, frequent: chinese, atLeast: 8}); ok && likely.shareOf(string(text)) >= 0.3 {
			return simplifiedchinese.HZGB2312, shiftedEncodings[2]
		}
	}
	return nil, ""
}

// wholeText decodes content; false if it is not in the encoding, or no text.
func wholeText(known encoding.Encoding, content []byte) ([]byte, bool) {
	decoded, err := known.NewDecoder().Bytes(content)
	return decoded, err == nil && !bytes.ContainsRune(decoded, utf8.RuneError) && !bytes.ContainsFunc(decoded, isControl)
}

// isShifted reports whether texts in the encoding are valid UTF-8 too.
func isShifted(name string) bool { return slices.Contains(shiftedEncodings, name) }

// koreanEscape announces in a text that shifts are to Korean.
var koreanEscape = []byte("\x1b$)C")

// iso2022KR is the encoding ISO-2022-KR, for reading alone.
type iso2022KR struct{}

// NewDecoder implements encoding.Encoding.
func (iso2022KR) NewDecoder() *encoding.Decoder {
	return &encoding.Decoder{Transformer: transform.Chain(new(unshift), textkorean.EUCKR.NewDecoder())}
}

// NewEncoder implements encoding.Encoding. Nothing is written in it.
func (iso2022KR) NewEncoder() *encoding.Encoder { return encoding.Nop.NewEncoder() }

// unshift turns ISO-2022-KR into EUC-KR: the same pairs of bytes with the eighth bit.
type unshift struct{ shifted bool }

// Reset implements transform.Transformer.
func (u *unshift) Reset() { u.shifted = false }

// Transform implements transform.Transformer. Each line begins unshifted.
func (u *unshift) Transform(dst, src []byte, atEOF bool) (written, read int, err error) {
	const shiftOut, shiftIn = 0x0e, 0x0f
	for read < len(src) {
		b := src[read]
		switch {
		case b == koreanEscape[0]:
			if rest := src[read:]; bytes.HasPrefix(rest, koreanEscape) {
				read += len(koreanEscape)
				continue
			} else if len(rest) < len(koreanEscape) && !atEOF {
				return written, read, transform.ErrShortSrc
			}
		case b == shiftOut, b == shiftIn:
			u.shifted = b == shiftOut
			read++
			continue
		case b == '\n':
			u.shifted = false
		case u.shifted && b > ' ' && b < 0x7f:
			b |= 0x80
		}
		if written == len(dst) {
			return written, read, transform.ErrShortDst
		}
		dst[written] = b
		written, read = written+1, read+1
	}
	return written, read, nil
}
