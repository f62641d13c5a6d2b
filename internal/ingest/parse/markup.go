package parse

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse/markup"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// markups are the readers of markup languages but XML, which may fail.
var markups = map[Format]func(source string) markup.Text{
	RST:       markup.RST,
	Man:       markup.Man,
	AsciiDoc:  markup.AsciiDoc,
	Org:       markup.Org,
	MediaWiki: markup.MediaWiki,
}

// markup reads a text in a markup language as Markdown.
func (p *parser) markup() error {
	p.declareXML()
	source, err := p.utf8()
	if err != nil {
		return err
	}
	var text markup.Text
	if read := markups[p.format]; read != nil {
		text = read(source)
	} else if text, err = markup.XML(source); err != nil {
		return xmlFault(err)
	}
	p.doc.Title = text.Title
	if text.Lines == nil {
		p.text.write(text.Markdown)
		return nil
	}
	number := 0
	for line := range strings.Lines(text.Markdown) {
		start := p.text.Len()
		p.text.write(line)
		if strings.TrimSpace(line) != "" {
			p.text.fromLine(start, text.Lines[number])
		}
		number++
	}
	return nil
}

// xmlFault returns the error for a file that is no XML or nested too deep.
func xmlFault(cause error) error {
	if errors.Is(cause, markup.ErrXMLDepth) {
		return tooLarge(XML, "elements stand in each other more than %d deep", markup.MaxXMLDepth)
	}
	err := fault.Field("content", "is not well-formed XML: correct it, or upload it as text/plain")
	err.Cause = cause
	return err
}

// xmlEncoding matches the encoding that an XML file declares.
var xmlEncoding = regexp.MustCompile(`^(?:\xef\xbb\xbf)?<\?xml [^>]*encoding=["']([A-Za-z0-9._-]+)["']`)

// declareXML heeds the encoding that an XML file declares, unless its content type declares one.
func (p *parser) declareXML() {
	if p.format != XML {
		return
	}
	found := xmlEncoding.FindSubmatch(p.src.Content[:min(len(p.src.Content), 1<<10)])
	if found == nil || bytes.EqualFold(found[1], []byte("utf-8")) {
		return
	}
	if _, _, ok := decodedAs(p.src.ContentType, p.src.Content); !ok {
		p.src.ContentType = "text/xml; charset=" + string(found[1])
	}
}
