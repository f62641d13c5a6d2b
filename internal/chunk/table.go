package chunk

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// splitTables cuts a Markdown text like splitRecursive. A table that is longer than a chunk, alone or
// with the lines around it, is cut by itself, and each of its chunks begins with its header rows,
// which the bounds of the chunk include only in the first one. A header longer than half a
// chunk is not repeated.
func splitTables(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	var chunks []Chunk
	counted, units := 0, 0 // units before a position
	add := func(start, end int, header string, part Options) error {
		found, err := splitRecursive(steps, text[start:end], &part)
		if err != nil {
			return err
		}
		if o.AddStartIndex {
			units += textspan.Units(text[counted:start])
			counted = start
		}
		for i := range found {
			c := &found[i]
			c.StartByte, c.EndByte = c.StartByte+start, c.EndByte+start
			if at, ok := c.Metadata[startIndexKey].(int); ok {
				c.Metadata[startIndexKey] = at + units
			}
			c.Text = header + c.Text
			if i == 0 && header != "" {
				c.StartByte -= len(header)
				if at, ok := c.Metadata[startIndexKey].(int); ok {
					c.Metadata[startIndexKey] = at - textspan.Units(header)
				}
			}
		}
		if chunks = append(chunks, found...); len(chunks) > MaxChunks {
			return tooManyChunks()
		}
		return nil
	}
	from := 0
	for _, t := range tablesOf(text) {
		header := text[t.header.Start:t.header.End]
		size := textspan.Units(header)
		if 2*size > o.MaxSize || t.header.End == t.end || textspan.Units(paragraphAround(text, t.header.Start, t.end)) <= o.MaxSize {
			continue
		}
		if err := add(from, t.header.Start, "", *o); err != nil {
			return nil, err
		}
		part := *o
		part.MaxSize -= size
		part.Overlap = min(o.Overlap, part.MaxSize/2)
		if err := add(t.header.End, t.end, header, part); err != nil {
			return nil, err
		}
		from = t.end
	}
	if err := add(from, len(text), "", *o); err != nil {
		return nil, err
	}
	return chunks, nil
}

// paragraphAround returns the lines around text[start:end] up to blank lines.
func paragraphAround(text string, start, end int) string {
	if i := strings.LastIndex(text[:start], "\n\n"); i >= 0 {
		start = i + 2
	} else {
		start = 0
	}
	if i := strings.Index(text[end:], "\n\n"); i >= 0 {
		return text[start : end+i]
	}
	return text[start:]
}

// table is a table of a Markdown text: its header rows with the delimiter row, and the end
// of the last row.
type table struct {
	header textspan.Span
	end    int
}

// tablesOf returns the tables of a Markdown text that have a delimiter row, in order. All rows
// above that row are header rows.
func tablesOf(text string) (tables []table) {
	if !strings.Contains(text, "|") {
		return nil
	}
	start, end := 0, 0 // the rows before, if there are some
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
		case end == at && end > start:
			end = next
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
