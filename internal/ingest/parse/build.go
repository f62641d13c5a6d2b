package parse

import (
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
)

// textBuilder collects the text of a document and its spans. The text is storable: valid
// UTF-8 without null characters. Text over MaxText bytes is dropped, and full is set.
type textBuilder struct {
	strings.Builder
	spans []Span
	full  bool
	next  int // the number of the line after the last span, if that has Lines

	tables []Table
	grids  grid.Builder
}

// write appends text.
func (b *textBuilder) write(text string) {
	if b.Len()+len(text) > MaxText {
		b.full = true
	}
	if !b.full {
		_, _ = b.WriteString(storable(text)) // it never fails
	}
}

// block appends a paragraph, heading or table after a blank line.
func (b *textBuilder) block(text string) {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	if b.Len() > 0 {
		b.write("\n\n")
	}
	b.write(text)
}

// span adds a span over the text that fill appends, unless it appends nothing.
func (b *textBuilder) span(s Span, fill func() error) error {
	start := b.Len()
	if err := fill(); err != nil {
		return err
	}
	// The blank line before the first paragraph is not part of the span.
	for start < b.Len() && b.String()[start] == '\n' {
		start++
	}
	if start < b.Len() {
		s.Start, s.End = start, b.Len()
		b.spans = append(b.spans, s)
	}
	return nil
}

// maxRuns bounds the spans that numbered makes. Later lines have no span.
const maxRuns = 200_000

// numbered records that the text appended since start, of one or several lines, is the row,
// line or cell with the number of s and those after it. It extends the last span if the two
// are of one kind and follow each other in the file and in the text.
func (b *textBuilder) numbered(start int, s Span) {
	for start < b.Len() && b.String()[start] == '\n' {
		start++
	}
	if start >= b.Len() || b.full {
		return
	}
	next := s.Number + strings.Count(b.String()[start:], "\n") + 1
	if n := len(b.spans); n > 0 {
		last := &b.spans[n-1]
		if last.Lines && last.Kind == s.Kind && last.Columns == s.Columns && last.End+1 == start && b.next == s.Number {
			last.End, b.next = b.Len(), next
			return
		}
	}
	if len(b.spans) < maxRuns {
		s.Start, s.End, s.Lines = start, b.Len(), true
		b.spans, b.next = append(b.spans, s), next
	}
}

// maxTables bounds the tables whose columns are known.
const maxTables = 10_000

// record records that the text appended since start is a row of a table with these columns. It extends the last table if
// that has the same.
func (b *textBuilder) record(start int, columns []string) {
	for start < b.Len() && b.String()[start] == '\n' {
		start++
	}
	n := len(b.tables)
	switch {
	case start >= b.Len() || b.full || len(columns) == 0:
	case n > 0 && &b.tables[n-1].Columns[0] == &columns[0]:
		b.tables[n-1].End = b.Len()
	case n < maxTables:
		b.tables = append(b.tables, Table{Start: start, End: b.Len(), Columns: columns})
	}
}

// fromLine records that the text appended since start comes from a line of the file. It extends the last span
// if that is of the same line.
func (b *textBuilder) fromLine(start, number int) {
	if n := len(b.spans); n > 0 && b.spans[n-1].Kind == Line && b.spans[n-1].Number == number && !b.spans[n-1].Lines {
		b.spans[n-1].End = b.Len()
		return
	}
	if start < b.Len() && len(b.spans) < maxRuns {
		b.spans = append(b.spans, Span{Kind: Line, Start: start, End: b.Len(), Number: number})
	}
}

// storable returns text as valid UTF-8 without null characters.
func storable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
	}
	return text
}
