package chunk

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// RepeatTableHeaders puts the header row of a Markdown table before the text of every
// chunk that begins with a later row of the table, so that the row's cells keep their
// meaning. The chunk must stay within maxSize: to make room it drops first rows that the
// chunk before it has too. A chunk that has no room stays as it is. StartByte is that of
// the first row. text and opts are those of the split by the markdown strategy; chunks
// of other strategies do not change.
func RepeatTableHeaders(text string, opts Options, chunks []Chunk) {
	if opts.Strategy != Markdown || len(opts.Headers) > 0 {
		return
	}
	tables := tablesOf(text)
	covered := 0 // end of the chunks before
	for i := range chunks {
		c := &chunks[i]
		for len(tables) > 0 && tables[0].end <= c.StartByte {
			tables = tables[1:]
		}
		if len(tables) == 0 {
			return
		}
		repeatHeader(text, opts.MaxSize, tables[0], c, covered)
		covered = max(covered, c.EndByte)
	}
}

// table is a table of a Markdown text: the header row with its delimiter row, and the end
// of the last row.
type table struct {
	header textspan.Span
	end    int
}

// repeatHeader puts the header of the table before the text of a chunk. The chunks before
// end at covered.
func repeatHeader(text string, maxSize int, t table, c *Chunk, covered int) {
	start := c.StartByte
	if start < t.header.End || text[start-1] != '\n' {
		return
	}
	header := text[t.header.Start:t.header.End]
	size := textspan.Units(header)
	for maxSize > 0 && size+textspan.Units(text[start:c.EndByte]) > maxSize {
		row := strings.IndexByte(text[start:c.EndByte], '\n')
		if row < 0 || start+row > covered {
			return
		}
		start += row + 1
	}
	if start >= min(t.end, c.EndByte) { // only text after the table is left
		return
	}
	if index, ok := c.Metadata[startIndexKey].(int); ok {
		c.Metadata[startIndexKey] = index + textspan.Units(text[c.StartByte:start])
	}
	c.StartByte, c.Text = start, header+text[start:c.EndByte]
}

// tablesOf returns the tables of a Markdown text that have a delimiter row, in order.
func tablesOf(text string) (tables []table) {
	start, end := 0, 0 // the line before, if it is a row
	for at := 0; at < len(text); {
		next := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		line := text[at:next]
		last := len(tables) - 1
		switch {
		case line[0] != '|':
			start, end = 0, 0
		case last >= 0 && tables[last].end == at:
			tables[last].end = next
		case end == at && end > start && isDelimiterRow(line):
			tables = append(tables, table{header: textspan.Span{Start: start, End: next}, end: next})
		default:
			start, end = at, next
		}
		at = next
	}
	if len(tables) == 0 {
		return nil
	}
	code := markdown.Read(text, nil).Opaque
	return slices.DeleteFunc(tables, func(t table) bool { return textspan.Contains(code, t.header.Start) })
}

// isDelimiterRow reports whether a row separates the header of a table from its body, such
// as |---|:-:|.
func isDelimiterRow(line string) bool {
	return strings.Contains(line, "-") && strings.Trim(line, "|:- \t\r\n") == ""
}
