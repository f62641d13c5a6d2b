// Package markdown reads the structure of Markdown texts: headings, fenced code and
// sections.
package markdown

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/chunk/outline"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// Header maps a marker ("##") to the metadata key under which titles are stored.
type Header struct{ Marker, Key string }

// Options say which headings to cut at.
type Options struct {
	Headers        []Header
	StripHeaders   bool // headings are not part of the text
	ReturnEachLine bool // a section for every line that is not blank
	Track          bool // Body.Bounds can be called
	Steps          *limit.Steps
}

// Section is text under headings. It is valid during the call of emit.
type Section struct {
	Body   *assembly.Text
	Fields []outline.Field // the enclosing headings
}

// Split calls emit with the text under each heading and the headings that enclose
// it.
//
// Headings are those of CommonMark (see Read) whose number signs, or the level that their
// underline stands for, are a marker of o.Headers. A marker that is not made of number signs
// makes a heading of each line outside of code and HTML that, without the white space around
// it, is the marker, or the marker, a space and the title. The number
// of # in a marker is its level, and a heading ends those of the same and of deeper
// levels. Headings of other levels are ordinary text, and so are titles longer than 1,024 bytes.
//
// Paragraphs, which blank lines outside of code and HTML separate, are joined with two spaces
// and a line feed.
// Two neighbouring sections with the same headings are joined. A heading without text
// has no section of its own, unless o.StripHeaders is false: then headings belong to
// the text. With o.ReturnEachLine every line that is
// not blank is a section.
//
// The span of a body reaches from the start of the first line of the text to the
// end of the last one, without its line feed. It includes blank lines and, if two
// sections were joined, the heading between them.
//
// Errors are Invalid about text, that of o.Steps, or the first error of emit.
func Split(text string, o Options, emit func(Section) error) error {
	if err := assembly.CheckLength(text); err != nil {
		return err
	}
	m := newSplitter(text, o, emit)
	m.structure = Read(text, o.Steps)
	for pos := 0; pos < len(text) && m.err == nil; {
		end := len(text)
		if i := strings.IndexByte(text[pos:], '\n'); i >= 0 {
			end = pos + i
		}
		if !o.Steps.Next(lineSteps + end - pos) {
			return o.Steps.Err()
		}
		pos = m.line(pos, end) + 1
	}
	m.endParagraph()
	m.endSection()
	return m.err
}

// lineSteps is what reading a line costs, besides its bytes.
const lineSteps = 16

// splitter is the state of a split by headings while it reads lines.
type splitter struct {
	text    string
	opts    Options
	markers []Header  // longest first
	first   [256]bool // the bytes that markers start with which CommonMark does not know
	out     func(Section) error
	err     error // the first

	structure  Structure // from the current line on
	start, end int       // of the current paragraph; equal if there is none
	path       outline.Path
	fields     []outline.Field // of path

	section       assembly.Text
	sectionFields []outline.Field
	headed        bool // the section ends with a heading
}

func newSplitter(text string, o Options, emit func(Section) error) *splitter {
	m := &splitter{text: text, opts: o, out: emit}
	m.section = assembly.New(text, o.Track, len(assembly.ParagraphJoin))
	m.markers = slices.Clone(o.Headers)
	slices.SortStableFunc(m.markers, func(a, b Header) int { return cmp.Compare(len(b.Marker), len(a.Marker)) })
	for _, h := range m.markers {
		m.first[h.Marker[0]] = m.first[h.Marker[0]] || !isLevel(h.Marker)
	}
	return m
}

// line reads text[start:end], a line without its line feed, and returns the end of what it read:
// of the last line of a heading.
func (m *splitter) line(start, end int) int {
	if headings := m.structure.Headings; len(headings) > 0 && headings[0].Start == start {
		found := headings[0]
		m.structure.Headings = headings[1:]
		if h, ok := m.titled(found); ok {
			m.endParagraph()
			m.enter(h, start, found.End)
			return found.End
		}
	}
	for len(m.structure.Opaque) > 0 && m.structure.Opaque[0].End <= start {
		m.structure.Opaque = m.structure.Opaque[1:]
	}
	from, to := textspan.Trim(m.text, start, end)
	trimmed := m.text[from:to]
	opaque := within(m.structure.Opaque[:min(1, len(m.structure.Opaque))], start)
	if opaque && (trimmed != "" || m.start < m.end) {
		m.extend(start, end)
		return end
	}
	if trimmed == "" {
		m.endParagraph()
		return end
	}
	if m.first[trimmed[0]] {
		if h, ok := m.marked(trimmed); ok {
			m.endParagraph()
			m.enter(h, start, end)
			return end
		}
	}
	m.extend(start, end)
	return end
}

// titled returns a heading of the text as that of the marker of its level, if there is one.
func (m *splitter) titled(found Heading) (outline.Heading, bool) {
	for _, h := range m.markers {
		if isLevel(h.Marker) && len(h.Marker) == found.Level && len(found.Title) <= outline.MaxTitle {
			return outline.Heading{Level: found.Level, Key: h.Key, Title: found.Title}, true
		}
	}
	return outline.Heading{}, false
}

// isLevel reports whether a marker is that of the headings of a level.
func isLevel(marker string) bool { return len(marker) <= 6 && strings.Trim(marker, "#") == "" }

func (m *splitter) extend(start, end int) {
	if m.start == m.end {
		m.start = start
	}
	m.end = end
}

// marked returns the heading that a line makes by a marker that CommonMark does not know.
func (m *splitter) marked(trimmed string) (outline.Heading, bool) {
	for _, h := range m.markers {
		if isLevel(h.Marker) {
			continue
		}
		rest, ok := strings.CutPrefix(trimmed, h.Marker)
		if ok && (rest == "" || rest[0] == ' ') && len(rest) <= outline.MaxTitle {
			from, to := textspan.Trim(rest, 0, len(rest))
			return outline.Heading{Level: strings.Count(h.Marker, "#"), Key: h.Key, Title: rest[from:to]}, true
		}
	}
	return outline.Heading{}, false
}

// enter makes the heading h, at text[start:end], the innermost one.
func (m *splitter) enter(h outline.Heading, start, end int) {
	closed := m.fields
	m.path = append(m.path.Under(h.Level), h)
	m.fields = m.path.Fields()
	switch {
	case m.opts.StripHeaders:
	case m.opts.ReturnEachLine:
		m.paragraph(start, end, m.fields)
	default:
		// As in the reference data, the heading's own line still carries the
		// keys of the headings that it ends.
		own := slices.Clone(closed)
		for _, f := range m.fields {
			own = outline.Set(own, f.Key, f.Value)
		}
		m.paragraph(start, end, own)
		m.headed = true
	}
}

func (m *splitter) endParagraph() {
	if m.start < m.end {
		m.paragraph(m.start, m.end, m.fields)
		m.start, m.end = 0, 0
	}
}

// paragraph adds text[start:end] to the section, or begins a new one with it.
func (m *splitter) paragraph(start, end int, fields []outline.Field) {
	if m.opts.ReturnEachLine {
		m.eachLine(start, end, fields)
		return
	}
	if m.section.Len() > 0 {
		if !m.continues(fields) {
			m.endSection()
		} else {
			m.section.Join(assembly.ParagraphJoin)
		}
	}
	m.section.Add(start, end)
	m.sectionFields, m.headed = fields, false
}

// continues reports whether a paragraph with the fields belongs to the current
// section: it has the same headings, or the section ends with the heading that
// encloses it.
func (m *splitter) continues(fields []outline.Field) bool {
	if slices.Equal(m.sectionFields, fields) {
		return true
	}
	if m.opts.StripHeaders || len(m.sectionFields) >= len(fields) {
		return false
	}
	if m.headed {
		return true
	}
	span := m.section.Span()
	last := m.text[span.Start:span.End]
	last = last[strings.LastIndexByte(last, '\n')+1:]
	return slices.ContainsFunc(m.markers, func(h Header) bool { return strings.HasPrefix(last, h.Marker) })
}

func (m *splitter) endSection() {
	if m.section.Len() > 0 {
		if err := m.out(Section{&m.section, m.sectionFields}); err != nil && m.err == nil {
			m.err = err
		}
	}
	m.section.Reset()
}

func (m *splitter) eachLine(start, end int, fields []outline.Field) {
	for start <= end {
		stop := end
		if i := strings.IndexByte(m.text[start:end], '\n'); i >= 0 {
			stop = start + i
		}
		if from, to := textspan.Trim(m.text, start, stop); from < to {
			m.section.Add(from, to)
			m.sectionFields = fields
			m.endSection()
		}
		start = stop + 1
	}
}
