package parse

import (
	"slices"
	"strings"
)

// flow writes the paragraphs, lists, tables and notes of a document as Markdown. A reader
// calls its methods in the order of the document. Tables may be nested. Calls that do not
// match, such as the end of a cell that was not started, do no harm.
type flow struct {
	out *textBuilder
	// open are the cells and boxes that are being read, the outermost first. Blocks go into
	// the last one, or to out if there is none.
	open   []*flowCell
	tables []*flowTable
	listed bool // the last block in out is an item of a list
	notes  int  // the number of notes that have a mark
	page   int  // the page that is being read, from 1; 0 before the first break between pages
	began  int  // the position in out where the page begins
}

// block is a paragraph, or a table.
type block struct {
	text   string
	level  int    // of a heading, from 1; 0 for others
	depth  int    // in lists, from 1; 0 outside
	marker string // of an item: "-", "2.", "a)"
	table  *flowTable
}

// flowCell is a cell of a table or a text box.
type flowCell struct {
	blocks []block
	span   int  // columns
	above  bool // continues the cell above
}

type flowTable struct {
	rows  [][]*flowCell
	row   []*flowCell
	heads int  // how many of the first rows are marked as head
	head  bool // row is
}

// Limits of tables. Wider cells and deeper tables are read, but lose their structure.
const (
	maxCellSpan   = 64 // columns
	maxTableDepth = 16
	maxRepeated   = 120 // bytes of a cell over several rows that is repeated in each
	maxHeadRows   = 8
)

// paragraph adds a paragraph, a heading or an item of a list.
func (f *flow) paragraph(b block) {
	b.text = strings.Trim(b.text, " \t\n")
	if b.text != "" || b.table != nil {
		f.add(b)
	}
}

func (f *flow) add(b block) {
	if n := len(f.open); n > 0 {
		f.open[n-1].blocks = append(f.open[n-1].blocks, b)
		return
	}
	f.write(b)
}

// write writes a block to out.
func (f *flow) write(b block) {
	switch {
	case b.table != nil:
		f.table(b.table)
		return
	case b.level > 0:
		f.out.block(headingLine(b.level, joined(b.marker, b.text)))
	case b.depth > 0:
		item := strings.Repeat("  ", b.depth-1) + joined(b.marker, strings.ReplaceAll(b.text, "\n", " "))
		if f.listed {
			f.out.write("\n" + item)
		} else {
			f.out.block(item)
		}
	default:
		f.out.block(joined(b.marker, b.text))
	}
	f.listed = b.depth > 0 && b.level == 0
}

// joined returns a marker and a text with a space between them if there is a marker.
func joined(marker, text string) string {
	if marker == "" {
		return text
	}
	return marker + " " + text
}

// table writes a table. A table of one column is a frame around text.
func (f *flow) table(t *flowTable) {
	f.listed = false
	if text := t.inline(); text == "" || t.width() > 1 && isPictures(text) {
		for _, picture := range figureMarks(text) {
			f.out.block(picture)
		}
		return
	}
	if t.width() <= 1 {
		for _, row := range t.rows {
			for _, cell := range row {
				for _, b := range cell.blocks {
					f.write(b)
				}
			}
		}
		f.listed = false
		return
	}
	if f.out.Len() > 0 {
		f.out.write("\n\n")
	}
	t.markdown(f.out)
}

// startTable begins a table.
func (f *flow) startTable() { f.tables = append(f.tables, &flowTable{}) }

// startCell begins a cell over some columns. Above means that it continues the cell above it.
func (f *flow) startCell(columns int, above bool) {
	f.open = append(f.open, &flowCell{span: min(max(columns, 1), maxCellSpan), above: above})
}

// setCell changes the cell that was begun last.
func (f *flow) setCell(change func(*flowCell)) {
	if n := len(f.open); n > 0 {
		change(f.open[n-1])
	}
}

// close ends the cell or box that was begun last. It returns nil if there is none.
func (f *flow) close() *flowCell {
	n := len(f.open)
	if n == 0 {
		return nil
	}
	c := f.open[n-1]
	f.open = f.open[:n-1]
	return c
}

// endCell ends a cell.
func (f *flow) endCell() {
	c := f.close()
	if c == nil {
		return
	}
	if n := len(f.tables); n > 0 && n <= maxTableDepth {
		f.tables[n-1].row = append(f.tables[n-1].row, c)
		return
	}
	for _, b := range c.blocks {
		f.add(b)
	}
}

// headRow says that the row that is being read is one of the head of the table.
func (f *flow) headRow() {
	if n := len(f.tables); n > 0 {
		f.tables[n-1].head = true
	}
}

// endRow ends a row. A dropped row is not part of the table.
func (f *flow) endRow(dropped bool) {
	if n := len(f.tables); n > 0 {
		t := f.tables[n-1]
		if !dropped && len(t.row) > 0 {
			if t.head && t.heads == len(t.rows) {
				t.heads++
			}
			t.rows = append(t.rows, t.row)
		}
		t.row, t.head = nil, false
	}
}

// endTable ends the table that was begun last.
func (f *flow) endTable() {
	n := len(f.tables)
	if n == 0 {
		return
	}
	f.endRow(false)
	t := f.tables[n-1]
	f.tables = f.tables[:n-1]
	t.repeat()
	f.add(block{table: t})
}

// startBox begins a text box, note or comment.
func (f *flow) startBox() { f.startCell(1, false) }

// endBox ends a text box, note or comment and returns its blocks.
func (f *flow) endBox() []block {
	if c := f.close(); c != nil {
		return c.blocks
	}
	return nil
}

// nextPage says that a page ends here. The text up to the end of the outermost table
// belongs to it.
func (f *flow) nextPage() {
	if f.page == 0 {
		f.page = 1
	}
	f.endPage()
	f.page++
}

// endPage adds the span of the page.
func (f *flow) endPage() {
	from := f.began
	for from < f.out.Len() && f.out.String()[from] == '\n' {
		from++
	}
	if f.page > 0 && from < f.out.Len() {
		f.out.spans = append(f.out.spans, Span{Kind: Page, Start: from, End: f.out.Len(), Number: f.page})
	}
	f.began = f.out.Len()
}

// width returns the greatest number of columns of a row.
func (t *flowTable) width() int {
	width := 0
	for _, row := range t.rows {
		columns := 0
		for _, c := range row {
			columns += c.span
		}
		width = max(width, columns)
	}
	return width
}

// repeat gives cells that continue the cell above them its text, so that each row is
// understood by itself, if the text is short.
func (t *flowTable) repeat() {
	above := map[int]*flowCell{}
	for _, row := range t.rows {
		column := 0
		for _, c := range row {
			if over := above[column]; c.above && over != nil && len(c.blocks) == 0 && len(inline(over.blocks)) <= maxRepeated {
				c.blocks = over.blocks
			}
			above[column] = c
			column += c.span
		}
	}
}

// headRows returns how many rows are the head of the table: those that are marked, or the first and those that it
// reaches into, if it has names over several columns.
func (t *flowTable) headRows() int {
	heads := max(t.heads, 1)
	for t.heads == 0 && heads < len(t.rows) && heads < maxHeadRows &&
		slices.ContainsFunc(t.rows[heads-1], func(c *flowCell) bool { return c.span > 1 }) &&
		slices.ContainsFunc(t.rows[heads], func(c *flowCell) bool { return c.above }) {
		heads++
	}
	if heads >= len(t.rows) || heads > maxHeadRows {
		return 1
	}
	return heads
}

// names returns the names of the columns of a head of several rows: what stands above each, from top to bottom.
func (t *flowTable) names(heads, width int) []string {
	names, last := make([]string, width), make([]string, width)
	for _, row := range t.rows[:heads] {
		column := 0
		for _, c := range row {
			text := inline(c.blocks)
			for at := column; at < min(column+c.span, width); at++ {
				if text != "" && text != last[at] {
					names[at] = strings.TrimSpace(names[at] + " " + text)
				}
				last[at] = text
			}
			column += c.span
		}
	}
	return names
}

// markdown writes the table with its first row as head, or its first rows joined. A cell over several columns
// stands in the first of them.
func (t *flowTable) markdown(out *textBuilder) {
	width := min(t.width(), 1<<14)
	heads := t.headRows()
	rows := t.rows
	if heads > 1 {
		for _, name := range t.names(heads, width) {
			out.write("| " + strings.ReplaceAll(name, "|", `\|`) + " ")
		}
		out.write("|\n|" + strings.Repeat(" --- |", width))
		rows = rows[heads:]
		out.write("\n")
	}
	for i, row := range rows {
		if out.full {
			return
		}
		out.write("|")
		columns := 0
		for _, c := range row {
			out.write(" " + strings.ReplaceAll(inline(c.blocks), "|", `\|`) + strings.Repeat(" |", c.span))
			columns += c.span
		}
		if i == 0 && heads == 1 {
			out.write(strings.Repeat("  |", max(width-columns, 0)) + "\n|" + strings.Repeat(" --- |", width))
		}
		if i < len(rows)-1 {
			out.write("\n")
		}
	}
}

// inline returns blocks as text in one line. The cells of a nested table are separated by
// commas, its rows by semicolons.
func inline(blocks []block) string {
	var out strings.Builder
	for _, b := range blocks {
		text := b.text
		if b.table != nil {
			text = b.table.inline()
		}
		if b.marker != "" && b.marker != "-" {
			text = b.marker + " " + text
		}
		if out.Len() > 0 && text != "" {
			out.WriteByte(' ')
		}
		out.WriteString(strings.Join(strings.Fields(text), " "))
	}
	return out.String()
}

func (t *flowTable) inline() string {
	var rows []string
	for _, row := range t.rows {
		var cells []string
		for _, c := range row {
			if text := inline(c.blocks); text != "" {
				cells = append(cells, text)
			}
		}
		if len(cells) > 0 {
			rows = append(rows, strings.Join(cells, ", "))
		}
	}
	return strings.Join(rows, "; ")
}

// headingLine returns a Markdown heading, of level 6 at most.
func headingLine(level int, text string) string {
	return strings.Repeat("#", min(max(level, 1), 6)) + " " + strings.Join(strings.Fields(text), " ")
}

// maxAddress is the greatest length in bytes of an address of a link that is written.
const maxAddress = 2048

// link returns text as a Markdown link, or the text alone if the address is not one of the
// web or of email, or says the same.
func link(text, address string) string {
	scheme, rest, _ := strings.Cut(address, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
	default:
		return text
	}
	if isPictures(text) {
		return text
	}
	label := strings.TrimSpace(text)
	bare := strings.Trim(rest, "/")
	if _, after, ok := strings.Cut(label, "://"); ok && strings.Trim(after, "/") == bare || strings.Trim(label, "/") == bare ||
		label == "" || len(address) > maxAddress || strings.ContainsAny(address, " \n<>()") {
		return text
	}
	return "[" + label + "](" + address + ")"
}
