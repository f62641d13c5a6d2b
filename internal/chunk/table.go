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
// which the bounds of the chunk include only in the first one. A row that is longer than a chunk is cut by its
// cells, and its later pieces have empty cells in place of those before, but the first, if that is short. A header longer than half a
// chunk is not repeated.
func splitTables(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	s := tableSplit{steps: steps, text: text, options: o}
	from := 0
	for _, t := range tablesOf(text) {
		header := text[t.header.Start:t.header.End]
		if 2*textspan.Units(header) > o.MaxSize || t.header.End == t.end || textspan.Units(paragraphAround(text, t.header.Start, t.end)) <= o.MaxSize {
			continue
		}
		if err := s.add(from, t.header.Start, ""); err != nil {
			return nil, err
		}
		if err := s.table(t, header); err != nil {
			return nil, err
		}
		from = t.end
	}
	err := s.add(from, len(text), "")
	return s.chunks, err
}

// tableSplit collects the chunks of a text with tables.
type tableSplit struct {
	steps   *limit.Steps
	text    string
	options *Options
	chunks  []Chunk
	counted int // position up to which units are counted
	units   int // before counted
}

// add cuts text[start:end] into chunks that begin with header.
func (s *tableSplit) add(start, end int, header string) error {
	return s.cut(start, end, textspan.Units(header), func(int) string { return header })
}

// cut cuts text[start:end] into chunks, each with what lead returns for its position before it, of at most room units.
func (s *tableSplit) cut(start, end, room int, lead func(at int) string) error {
	o := *s.options
	if room > 0 {
		o.MaxSize -= room
		o.Overlap = min(o.Overlap, o.MaxSize/2)
	}
	found, err := splitRecursive(s.steps, s.text[start:end], &o)
	if err != nil {
		return err
	}
	for i := range found {
		c := &found[i]
		c.StartByte, c.EndByte = c.StartByte+start, c.EndByte+start
		c.Text = lead(c.StartByte) + c.Text
		s.locate(c)
	}
	if s.chunks = append(s.chunks, found...); len(s.chunks) > MaxChunks {
		return tooManyChunks()
	}
	return nil
}

// locate sets the position of a chunk in UTF-16 code units.
func (s *tableSplit) locate(c *Chunk) {
	if !s.options.AddStartIndex {
		return
	}
	if c.StartByte < s.counted { // the chunk before overlaps
		s.units -= textspan.Units(s.text[c.StartByte:s.counted])
	} else {
		s.units += textspan.Units(s.text[s.counted:c.StartByte])
	}
	s.counted = c.StartByte
	c.Metadata[startIndexKey] = s.units
}

// table cuts the rows of a table.
func (s *tableSplit) table(t table, header string) error {
	most := s.options.MaxSize - textspan.Units(header)
	first := len(s.chunks)
	from := t.header.End
	for at := from; at < t.end; {
		next := t.end
		if n := strings.IndexByte(s.text[at:t.end], '\n'); n >= 0 {
			next = at + n + 1
		}
		if textspan.Units(strings.TrimSpace(s.text[at:next])) > most {
			if err := s.add(from, at, header); err != nil {
				return err
			}
			if err := s.row(at, next, header); err != nil {
				return err
			}
			from = next
		}
		at = next
	}
	if err := s.add(from, t.end, header); err != nil || first == len(s.chunks) {
		return err
	}
	c := &s.chunks[first] // it has the header where it stands
	c.StartByte, c.Text = t.header.Start, s.text[t.header.Start:c.EndByte]
	s.locate(c)
	return nil
}

// maxRowName is the length of the first cell of a row that is repeated in its later pieces, in UTF-16 code units.
const maxRowName = 80

// row cuts a row that is longer than a chunk: after each cell that is longer itself, and within such cells.
func (s *tableSplit) row(start, end int, header string) error {
	cells := cellsOf(s.text[start:end])
	for n := range cells {
		cells[n] += start
	}
	cellEnd := func(n int) int {
		if n+1 < len(cells) {
			return cells[n+1]
		}
		return end
	}
	name := strings.TrimSpace(s.text[cells[0]:cellEnd(0)])
	if name = strings.TrimPrefix(name, "| "); textspan.Units(name) > maxRowName {
		name = ""
	}
	room := textspan.Units(header) + textspan.Units(name) + 2*len(cells) + 2
	if 2*room > s.options.MaxSize {
		return s.add(start, end, header)
	}
	lead := func(at int) string {
		n, begins := slices.BinarySearch(cells, at)
		switch { // n cells are before it
		case begins && n == 0:
			return header
		case n == 1 && !begins:
			return header + "| "
		}
		return header + "| " + strings.TrimLeft(name+" ", " ") + strings.Repeat("| ", n-1)
	}
	// A cell that is longer than a chunk goes with the short ones before it and, if they fit, those after it.
	most, from, used, final := s.options.MaxSize-room, 0, 0, false
	rest := textspan.Units(s.text[cells[0]:end])
	for n := range cells {
		size := textspan.Units(s.text[cells[n]:cellEnd(n)])
		if n > from && size <= most && used+size > most && !final {
			if err := s.cut(cells[from], cells[n], room, lead); err != nil {
				return err
			}
			from, used = n, 0
		}
		used, rest = used+size, rest-size
		if size <= most || final {
			continue
		}
		if final = rest <= most; !final {
			if err := s.cut(cells[from], cellEnd(n), room, lead); err != nil {
				return err
			}
			from, used = n+1, 0
		}
	}
	return s.cut(cells[from], end, room, lead)
}

// cellsOf returns where the cells of a row begin, with the sign before them.
func cellsOf(row string) (cells []int) {
	indent := len(row) - len(strings.TrimLeft(row, " \t"))
	content := strings.TrimRight(row, " \t\r\n")
	if !strings.HasPrefix(row[indent:], "|") {
		cells = append(cells, indent)
	}
	for i := indent; i < len(content)-1; i++ { // a | at the end begins no cell
		switch content[i] {
		case '\\':
			i++
		case '|':
			cells = append(cells, i)
		}
	}
	if len(cells) == 0 {
		return []int{0}
	}
	return cells
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
// above that row are header rows. The rows of a table all begin with a |, or none does.
func tablesOf(text string) (tables []table) {
	if !strings.Contains(text, "|") {
		return nil
	}
	start, end, piped := 0, 0, false // the rows before, if there are some
	for at := 0; at < len(text); {
		next := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		line := strings.TrimSpace(text[at:next])
		last := len(tables) - 1
		begins := strings.HasPrefix(line, "|")
		follows := end == at && end > start && begins == piped
		switch {
		case !strings.Contains(line, "|"):
			start, end = 0, 0
		case last >= 0 && tables[last].end == at && begins == piped:
			tables[last].end = next
		case follows && isDelimiterRow(line):
			if !begins { // text with a | may stand above
				start = strings.LastIndexByte(text[:at-1], '\n') + 1
			}
			tables = append(tables, table{header: textspan.Span{Start: start, End: next}, end: next})
		case follows:
			end = next
		default:
			start, end, piped = at, next, begins
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
	if strings.HasPrefix(line, "|") {
		return strings.Contains(line, "-") && strings.Trim(line, "|:- \t\r\n") == ""
	}
	for cell := range strings.SplitSeq(strings.TrimSuffix(line, "|"), "|") {
		cell = strings.TrimSpace(cell)
		cell = strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":")
		if cell == "" || strings.Trim(cell, "-") != "" {
			return false
		}
	}
	return true
}
