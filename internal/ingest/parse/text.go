package parse

import (
	"bytes"
	"encoding/json"
	"mime"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// plain reads a text unchanged.
func (p *parser) plain() error {
	text, err := p.utf8()
	if err != nil {
		return err
	}
	p.doc.ContentType = p.format.MediaType()
	declared, _, err := mime.ParseMediaType(p.src.ContentType)
	if err == nil && p.format.MediaType() == "text/plain" && strings.HasPrefix(declared, "text/") {
		p.doc.ContentType = declared // text/x-go is more specific than text/plain
	}
	if len(text) > MaxText {
		p.text.full = true
		return nil
	}
	p.doc.Text = storable(text) // makes no copy of storable text
	p.doc.Spans = []Span{Lines(p.doc.Text)}
	return nil
}

// Lines returns the span of a text whose lines are those of its file.
func Lines(text string) Span { return Span{Kind: Line, End: len(text), Number: 1, Lines: true} }

// IsEncoded reports whether Parse decodes a text that is not UTF-8: in the encoding that its
// content type declares, HTML and XML also in that of the page, and other text in an encoding that is
// recognized with certainty.
func IsEncoded(f Format, src Source) bool {
	if f == HTML || f == XML || isSigned(src.Content) {
		return true
	}
	if _, _, ok := decodedAs(src.ContentType, src.Content); ok {
		return true
	}
	if utf8.Valid(src.Content) {
		return false
	}
	known, _ := encodingOf(src.Content)
	return known != nil
}

// WithCharset returns a media type with the encoding that contentType declares, if content is in
// that encoding and not in UTF-8: without it Parse may not find the encoding. Else it returns the
// media type alone.
func WithCharset(mediaType, contentType string, content []byte) string {
	if _, name, ok := decodedAs(contentType, content); ok {
		return mime.FormatMediaType(mediaType, map[string]string{"charset": name})
	}
	return mediaType
}

// utf8 returns the source as text, decoded if it is not UTF-8. The property encoding is
// then the name of its encoding.
func (p *parser) utf8() (string, error) {
	content := bytes.TrimPrefix(p.src.Content, []byte("\xef\xbb\xbf"))
	if text, name, ok := decodedAs(p.src.ContentType, content); ok {
		p.property("encoding", name)
		return text, nil
	}
	if !isSigned(content) && utf8.Valid(content) {
		return string(content), nil
	}
	from, name := encodingOf(content)
	if from == nil {
		return "", NotUTF8(content)
	}
	decoded, err := from.NewDecoder().Bytes(content)
	if err != nil {
		return "", broken(p.format, err)
	}
	p.property("encoding", name)
	return string(decoded), nil
}

// NotUTF8 returns the error about a text whose encoding is not certain, which names the likeliest.
func NotUTF8(content []byte) error {
	names := likeliest(content)
	if len(names) == 0 {
		return fault.Field("content", "is not UTF-8 text, and its encoding is not certain: convert it, for example with `iconv -f WINDOWS-1251 -t UTF-8`")
	}
	return fault.Field("content", "is not UTF-8 text, and its encoding is not certain: convert it, for example with `iconv -f %s -t UTF-8`, or declare it, as in `text/plain; charset=%s`; it is likely %s",
		strings.ToUpper(names[0]), names[0], strings.Join(names, " or "))
}

// unescaped returns JSON in which characters outside of ASCII are not written as escapes, in
// which no search would find them.
func unescaped(text string) string {
	if !strings.Contains(text, `\u`) {
		return text
	}
	var out strings.Builder
	for at := 0; at < len(text); {
		if text[at] != '\\' || at+1 == len(text) {
			out.WriteByte(text[at])
			at++
			continue
		}
		r, size := escapedRune(text[at:])
		if r < utf8.RuneSelf || r == utf8.RuneError {
			out.WriteString(text[at:min(at+2, len(text))])
			at += 2
			continue
		}
		out.WriteRune(r)
		at += size
	}
	return out.String()
}

// escapedRune returns the character that the escape at the start of a text stands for, and
// the bytes of the escape. It returns 0 for any other text.
func escapedRune(text string) (r rune, size int) {
	const one = len(`\u0000`)
	unit := func(text string) rune {
		if len(text) < one || text[1] != 'u' || text[0] != '\\' {
			return 0
		}
		n, err := strconv.ParseUint(text[2:one], 16, 16)
		if err != nil {
			return 0
		}
		return rune(n)
	}
	r = unit(text)
	if utf16.IsSurrogate(r) {
		return utf16.DecodeRune(r, unit(text[one:])), 2 * one
	}
	return r, one
}

// jsonLines writes the lines that are not empty.
func (p *parser) jsonLines() error {
	text, err := p.utf8()
	if err != nil {
		return err
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if !json.Valid([]byte(line)) {
			return fault.Field("content", "is a broken %s file: line %d is not valid JSON", p.format.Name(), number)
		}
		start := p.text.Len()
		if start > 0 {
			p.text.write("\n")
		}
		p.text.write(unescaped(line))
		p.text.numbered(start, Span{Kind: Line, Number: number})
		if p.text.full {
			return nil
		}
	}
	return nil
}
