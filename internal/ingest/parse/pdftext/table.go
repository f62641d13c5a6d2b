package pdftext

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// cell is a piece of a line that stands apart from the others.
type cell struct {
	text     string
	from, to float64 // along the line
}

// column is the extent of the cells of a column.
type column struct{ from, to float64 }

// A table has at least minRows rows, or two of at least three cells. Beyond maxColumns it
// is a drawing.
const (
	minRows    = 3
	maxColumns = 20
)

// grid is a table of a page.
type grid struct {
	columns []column
	rows    [][]string // the first is the head
	lines   int        // of the page
}

// table returns the table that the lines begin with, without lines if they do not begin with one.
func table(lines []line, body float64) grid {
	n := rowsOf(lines, body)
	if n < 2 {
		return grid{}
	}
	columns := columnsOf(nil, lines[:n])
	if len(columns) < 2 || len(columns) > maxColumns || n < minRows && len(columns) < 3 {
		return grid{}
	}
	rows := cellsOf(lines[:n], columns)
	whole := 0
	for _, l := range lines[:n] {
		if len(l.cells) == len(columns) {
			whole++
		}
	}
	if rows == nil || whole*2 < n {
		return grid{}
	}
	return grid{columns, rows, n}
}

// next returns the rest of a table with which the page before ends, without lines if a page does not begin with rows in its
// columns. It has the head of the table, which pages may repeat or not.
func (g grid) next(lines []line, body float64) grid {
	n := rowsOf(lines, body)
	if n == 0 || !g.hasHead() {
		return grid{}
	}
	columns := columnsOf(g.columns, lines[:n])
	if len(columns) != len(g.columns) {
		return grid{}
	}
	rows := cellsOf(lines[:n], columns)
	isWhole := func(l line) bool { return len(l.cells) == len(columns) }
	if rows == nil || !slices.ContainsFunc(lines[:n], isWhole) && table(lines, body).lines > 0 { // in some of the columns: another one
		return grid{}
	}
	return grid{columns, g.headed(rows), n}
}

// maxHead bounds a cell of a head that the next page is given, in bytes.
const maxHead = 60

// hasHead reports whether the first row of a table names its columns: those of listings, indexes and the like do not.
func (g grid) hasHead() bool {
	return g.lines > 0 && !slices.ContainsFunc(g.rows[0], func(text string) bool {
		return len(text) > maxHead || strings.ContainsAny(text, ";{}=\\0123456789") || !strings.ContainsFunc(text, unicode.IsLetter)
	})
}

// headed returns the rows of the rest of a table with its head, if they do not begin with it.
func (g grid) headed(rows [][]string) [][]string {
	if slices.Equal(rows[0], g.rows[0]) {
		return rows
	}
	return slices.Insert(slices.Clone(rows), 0, g.rows[0])
}

// goesOn returns a table with the head of the one with which the page before ends, if it has the same columns or, where others
// have no text, some of them.
func (g grid) goesOn(rest grid) grid {
	if !g.hasHead() || rest.lines == 0 {
		return rest
	}
	rows := make([][]string, len(rest.rows))
	for r := range rows {
		rows[r] = make([]string, len(g.columns))
	}
	next := 0
	for i, c := range rest.columns {
		for next < len(g.columns) && g.columns[next].to <= c.from {
			next++
		}
		if next == len(g.columns) || c.to <= g.columns[next].from {
			return rest
		}
		for r := range rows {
			rows[r][next] = rest.rows[r][i]
		}
		next++
	}
	return grid{g.columns, g.headed(rows), rest.lines}
}

// rowsOf returns how many lines from the first on can be rows of a table.
func rowsOf(lines []line, body float64) (n int) {
	for n < len(lines) && isRow(lines, n, body) {
		n++
	}
	return n
}

// cellsOf returns the text of each column of each line, nil if two cells of a line are in one column.
func cellsOf(lines []line, columns []column) (rows [][]string) {
	for _, l := range lines {
		row, ok := rowOf(l, columns)
		if !ok {
			return nil
		}
		rows = append(rows, row)
	}
	return rows
}

// isRow reports whether a line can be a row of the table that ends with the line before.
func isRow(lines []line, i int, body float64) bool {
	l := lines[i]
	if len(l.cells) < 2 || l.ruling != nil || strings.Contains(l.text, ". . .") || strings.Contains(l.text, "....") || l.size > level2Ratio*body {
		return false
	}
	if i == 0 {
		return true
	}
	gap := lines[i-1].across - l.across
	return gap > 0.5*l.size && gap < 4*l.size
}

// columnsOf returns the columns of rows: the extents of their cells, joined where they
// overlap, with columns that are known.
func columnsOf(known []column, rows []line) []column {
	all := slices.Clone(known)
	for _, row := range rows {
		for _, c := range row.cells {
			all = append(all, column{c.from, c.to})
		}
	}
	slices.SortFunc(all, func(a, b column) int { return cmp.Compare(a.from, b.from) })
	var columns []column
	for _, c := range all {
		if n := len(columns); n > 0 && c.from < columns[n-1].to {
			columns[n-1].to = max(columns[n-1].to, c.to)
			continue
		}
		columns = append(columns, c)
	}
	return columns
}

// rowOf returns the text of each column of a line, or false if two cells are in one column.
func rowOf(l line, columns []column) ([]string, bool) {
	row := make([]string, len(columns))
	texts := l.texts()
	for n, c := range l.cells {
		i := slices.IndexFunc(columns, func(col column) bool { return c.from >= col.from && c.from < col.to })
		if i < 0 || row[i] != "" {
			return nil, false
		}
		row[i] = texts[n]
	}
	return row, true
}

// texts returns the text of each cell of a line as Markdown, or that of a line without cells.
func (l line) texts() []string {
	if l.cells == nil {
		return []string{l.written(0, len(l.text), true)}
	}
	at := 0
	texts := make([]string, len(l.cells))
	for i, c := range l.cells {
		texts[i] = c.text
		if begin := strings.Index(l.text[at:], c.text); begin >= 0 {
			begin, at = at+begin, at+begin+len(c.text)
			texts[i] = l.written(begin, at, true)
		}
	}
	return texts
}

// format returns rows as a table in Markdown.
func format(rows [][]string) string {
	var out strings.Builder
	for i, row := range rows {
		if i > 0 {
			out.WriteByte('\n')
		}
		for _, text := range row {
			out.WriteString("| " + strings.ReplaceAll(text, "|", `\|`) + " ")
		}
		out.WriteByte('|')
		if i == 0 {
			out.WriteString("\n" + strings.Repeat("| --- ", len(row)) + "|")
		}
	}
	return out.String()
}

// gathered returns lines with those in the same grid as the line at a position right behind it.
func gathered(lines []line, at int) []line {
	out := slices.Clone(lines[:at])
	for _, same := range []bool{true, false} {
		for _, l := range lines[at:] {
			if (l.ruling == lines[at].ruling) == same {
				out = append(out, l)
			}
		}
	}
	return out
}
