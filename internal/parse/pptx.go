package parse

import (
	"context"
	"encoding/xml"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// pptx reads a presentation: each slide's title as a heading, its text, tables and
// the speaker's notes, in the order of the presentation. A slide or notes that are named
// again are not read again.
func (p *parser) pptx(ctx context.Context) error {
	from, err := p.openPack()
	if err != nil {
		return err
	}
	if err := p.describeOffice(from); err != nil {
		return err
	}
	slides, err := slideParts(from)
	if err != nil {
		return err
	}
	for i, name := range slides {
		if err := ctx.Err(); err != nil {
			return err
		}
		if from.repeated(name) {
			continue
		}
		err := p.text.span(Span{Kind: Slide, Number: i + 1}, func() error { return p.slide(from, name) })
		if err != nil {
			return err
		}
	}
	return nil
}

// slideParts returns the part names of the slides in the order of the presentation.
func slideParts(from *pack) ([]string, error) {
	const show = "ppt/presentation.xml"
	data, err := from.part(show)
	if err != nil {
		return nil, err
	}
	presentation, err := tree(data)
	if err != nil {
		return nil, broken(from.format, err)
	}
	targets, err := from.relations(show)
	if err != nil {
		return nil, err
	}
	var slides []string
	presentation.all("sldId", func(n *node) {
		for _, a := range n.attrs {
			if a.Name.Local == "id" && a.Name.Space != "" { // r:id, not the slide's own number
				slides = append(slides, targets[a.Value])
			}
		}
	})
	return slides, nil
}

func (p *parser) slide(from *pack, name string) error {
	data, err := from.part(name)
	if err != nil {
		return err
	}
	s := &slideReader{out: &p.text}
	if err := walkXML(data, s.visit); err != nil {
		return broken(p.format, err)
	}
	targets, err := from.relations(name)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(targets)) {
		target := targets[id]
		if !strings.HasPrefix(target, "ppt/notesSlides/") || from.repeated(target) {
			continue
		}
		data, err := from.optional(target)
		if err != nil {
			return err
		}
		notes := &slideReader{out: &p.text, notes: true}
		if err := walkXML(data, notes.visit); err != nil {
			return broken(p.format, err)
		}
	}
	return nil
}

// slideReader writes the shapes of a slide, or of its notes, as Markdown.
type slideReader struct {
	out   *textBuilder
	notes bool

	placeholder string // purpose of the shape: title, body, sldNum, ...
	paragraph   strings.Builder
	level       int
	bulleted    bool
	lines       []string // of the shape
	inText      bool
	table       *wordTable
}

func (s *slideReader) visit(token xml.Token, _ int) error {
	switch t := token.(type) {
	case xml.StartElement:
		s.start(t)
	case xml.EndElement:
		s.end(t.Name.Local)
	case xml.CharData:
		if s.inText {
			s.paragraph.Write(t)
		}
	}
	return nil
}

func (s *slideReader) start(t xml.StartElement) {
	switch t.Name.Local {
	case "sp":
		s.placeholder, s.lines = "", nil
	case "ph":
		s.placeholder = attrOf(t.Attr, "type")
		if s.placeholder == "" {
			s.placeholder = "body"
		}
	case "pPr":
		s.level, _ = strconv.Atoi(attrOf(t.Attr, "lvl"))
		s.level = min(max(s.level, 0), 8)
	case "buChar", "buAutoNum":
		s.bulleted = true
	case "buNone":
		s.bulleted = false
	case "t":
		s.inText = true
	case "br":
		s.paragraph.WriteByte(' ')
	case "tbl":
		s.table = &wordTable{}
	}
}

func (s *slideReader) end(name string) {
	switch name {
	case "t":
		s.inText = false
	case "p":
		s.finishParagraph()
	case "tc":
		if s.table != nil {
			s.table.row = append(s.table.row, strings.Join(s.lines, " "))
			s.lines = nil
		}
	case "tr":
		if s.table != nil {
			s.table.rows = append(s.table.rows, s.table.row)
			s.table.row = nil
		}
	case "tbl":
		if s.table != nil {
			s.out.block(markdownTable(s.table.rows))
			s.table, s.lines = nil, nil
		}
	case "sp":
		s.finishShape()
	}
}

func (s *slideReader) finishParagraph() {
	text := strings.Join(strings.Fields(s.paragraph.String()), " ")
	bulleted := s.bulleted || s.placeholder == "body"
	level := s.level
	s.paragraph.Reset()
	s.level, s.bulleted = 0, false
	if text == "" {
		return
	}
	if bulleted && s.table == nil && !s.notes {
		text = strings.Repeat("  ", level) + "- " + text
	}
	s.lines = append(s.lines, text)
}

func (s *slideReader) finishShape() {
	text := strings.Join(s.lines, "\n")
	s.lines = nil
	switch {
	case text == "":
	case s.placeholder == "sldNum", s.placeholder == "dt", s.placeholder == "ftr", s.placeholder == "hdr", s.placeholder == "sldImg":
	case s.notes:
		s.out.block("Notes: " + text)
	case s.placeholder == "title", s.placeholder == "ctrTitle":
		s.out.block(headingLine(2, text))
	default:
		s.out.block(text)
	}
}
