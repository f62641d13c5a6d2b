package chunk

import (
	"cmp"
	"slices"
	"strings"
)

// splitMarkdownHeaders makes a chunk of the text under each heading and stores
// the headings that enclose it in the metadata.
//
// A heading is a line that, white space around it aside, is one of the markers
// of o.Headers or one of them, a space and the title; what stands in fenced code
// is none. The number of # in a marker is its level, and a heading ends those of
// its own and of deeper levels. Lines of other markers are ordinary text, and so
// are headings underlined with = or - and those longer than 1,024 bytes.
//
// Paragraphs, the parts between blank lines, are joined with two spaces and a
// line feed. Two neighbouring sections with the same headings make one chunk. A
// heading without text has no chunk of its own, unless o.StripHeaders is false:
// then headings are part of the text. With o.ReturnEachLine every line that is
// not blank is a chunk. Where o.MaxSize is set, longer chunks are cut further
// by the recursive strategy.
//
// StartByte and EndByte reach from the start of the first line of the text to
// the end of the last one, without its line feed; blank lines, and for two
// sections made one the heading between them, lie inside. Where a chunk was cut
// further, or is a line, the bounds are those of its own text.
func splitMarkdownHeaders(text string, o *Options) ([]Chunk, error) {
	if err := checkTracked(text); err != nil {
		return nil, err
	}
	m := newMarkdownSections(text, o)
	for pos := 0; pos < len(text) && m.out.err == nil; {
		end := len(text)
		if i := strings.IndexByte(text[pos:], '\n'); i >= 0 {
			end = pos + i
		}
		m.line(pos, end)
		pos = end + 1
	}
	m.endParagraph()
	m.endSection()
	return m.out.chunks, m.out.err
}

// paragraphJoin stands between the paragraphs of a section, and between two
// sections that make one chunk.
const paragraphJoin = "  \n"

// markdownSections is the state of a split by headings while it reads lines.
type markdownSections struct {
	text    string
	opts    *Options
	markers []HeaderKey // longest first
	first   [256]bool   // the bytes that markers start with
	out     rebuilder

	fence      string // that the code around this line was opened with
	start, end int    // of the paragraph so far; none if equal
	path       headerPath
	fields     []field // of path

	section       assembly
	sectionFields []field
}

func newMarkdownSections(text string, o *Options) *markdownSections {
	m := &markdownSections{text: text, opts: o, out: newRebuilder(text, o)}
	m.section = assembly{source: text, track: m.out.tracks(), joinLen: len(paragraphJoin)}
	m.markers = slices.Clone(o.Headers)
	slices.SortStableFunc(m.markers, func(a, b HeaderKey) int { return cmp.Compare(len(b.Marker), len(a.Marker)) })
	for _, h := range m.markers {
		m.first[h.Marker[0]] = true
	}
	return m
}

// line reads text[start:end], a line without its line feed.
func (m *markdownSections) line(start, end int) {
	from, to := trim(m.text, start, end)
	trimmed := m.text[from:to]
	if m.inCode(trimmed) {
		m.extend(start, end)
		return
	}
	if trimmed == "" {
		m.endParagraph()
		return
	}
	if m.first[trimmed[0]] {
		if h, ok := m.heading(trimmed); ok {
			m.endParagraph()
			m.enter(h, start, end)
			return
		}
	}
	m.extend(start, end)
}

// inCode reports whether a line is fenced code or opens it. The line that closes
// the code is not.
func (m *markdownSections) inCode(trimmed string) bool {
	switch {
	case m.fence != "":
		if strings.HasPrefix(trimmed, m.fence) {
			m.fence = ""
		}
	case strings.HasPrefix(trimmed, "~~~"):
		m.fence = "~~~"
	case strings.HasPrefix(trimmed, "```") && !strings.Contains(trimmed[3:], "```"):
		m.fence = "```"
	}
	return m.fence != ""
}

func (m *markdownSections) extend(start, end int) {
	if m.start == m.end {
		m.start = start
	}
	m.end = end
}

func (m *markdownSections) heading(trimmed string) (header, bool) {
	for _, h := range m.markers {
		rest, ok := strings.CutPrefix(trimmed, h.Marker)
		if ok && (rest == "" || rest[0] == ' ') && len(rest) <= maxHeaderTitle {
			from, to := trim(rest, 0, len(rest))
			return header{level: strings.Count(h.Marker, "#"), key: h.Key, value: rest[from:to]}, true
		}
	}
	return header{}, false
}

// enter goes below the heading that stands in text[start:end].
func (m *markdownSections) enter(h header, start, end int) {
	closed := m.fields
	m.path = append(m.path.under(h.level), h)
	m.fields = m.path.fields()
	switch {
	case m.opts.StripHeaders:
	case m.opts.ReturnEachLine:
		m.paragraph(start, end, m.fields)
	default:
		// As in the reference data, the heading's own line still carries the
		// keys of the headings that it ends.
		own := slices.Clone(closed)
		for _, f := range m.fields {
			own = setField(own, f.key, f.value)
		}
		m.paragraph(start, end, own)
	}
}

func (m *markdownSections) endParagraph() {
	if m.start < m.end {
		m.paragraph(m.start, m.end, m.fields)
		m.start, m.end = 0, 0
	}
}

// paragraph adds text[start:end] to the section, or begins a new one with it.
func (m *markdownSections) paragraph(start, end int, fields []field) {
	if m.opts.ReturnEachLine {
		m.eachLine(start, end, fields)
		return
	}
	if m.section.len() > 0 {
		if !m.continues(fields) {
			m.endSection()
		} else {
			m.section.join(paragraphJoin)
		}
	}
	m.section.add(start, end)
	m.sectionFields = fields
}

// continues reports whether a paragraph with the fields belongs to the section
// so far: it has the same headings, or deeper ones of which the last line of the
// section is a parent.
func (m *markdownSections) continues(fields []field) bool {
	if slices.Equal(m.sectionFields, fields) {
		return true
	}
	if m.opts.StripHeaders || len(m.sectionFields) >= len(fields) {
		return false
	}
	last := m.text[m.section.start:m.section.end]
	last = last[strings.LastIndexByte(last, '\n')+1:]
	return slices.ContainsFunc(m.markers, func(h HeaderKey) bool { return strings.HasPrefix(last, h.Marker) })
}

func (m *markdownSections) endSection() {
	m.out.addAssembly(&m.section, m.sectionFields)
	m.section.reset()
}

func (m *markdownSections) eachLine(start, end int, fields []field) {
	for start <= end {
		stop := end
		if i := strings.IndexByte(m.text[start:end], '\n'); i >= 0 {
			stop = start + i
		}
		if from, to := trim(m.text, start, stop); from < to {
			m.section.add(from, to)
			m.sectionFields = fields
			m.endSection()
		}
		start = stop + 1
	}
}
