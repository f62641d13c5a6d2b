package parse

import (
	"bytes"
	"encoding/json"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"github.com/ragdhq/ragd/internal/fault"
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
	return nil
}

// IsEncoded reports whether Parse decodes a text that is not UTF-8: UTF-16 with a byte
// order mark, and HTML in its declared encoding.
func IsEncoded(f Format, content []byte) bool { return f == HTML || isUTF16(content) }

// utf8 returns the source as text: UTF-8, or UTF-16 with a byte order mark.
func (p *parser) utf8() (string, error) {
	content := bytes.TrimPrefix(p.src.Content, []byte("\xef\xbb\xbf"))
	if isUTF16(content) {
		decoded, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(content)
		if err != nil {
			return "", broken(p.format, err)
		}
		content = decoded
	}
	if !utf8.Valid(content) {
		return "", fault.Field("content", "is not valid UTF-8: convert it to UTF-8 text")
	}
	return string(content), nil
}

// jsonLines writes a paragraph for each line, so that chunks end between records.
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
		p.text.block(line)
	}
	return nil
}
