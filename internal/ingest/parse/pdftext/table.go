package pdftext

import (
	"cmp"
	"slices"
	"strings"
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
	if n == 0 || g.lines == 0 {
		return grid{}
	}
	columns := columnsOf(g.columns, lines[:n])
	if len(columns) != len(g.columns) {
		return grid{}
	}
	rows := cellsOf(lines[:n], columns)
	if rows == nil {
		return grid{}
	}
	if !slices.Equal(rows[0], g.rows[0]) {
		rows = slices.Insert(rows, 0, g.rows[0])
	}
	return grid{columns, rows, n}
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
	if len(l.cells) < 2 || strings.Contains(l.text, ". . .") || strings.Contains(l.text, "....") || l.size > level2Ratio*body {
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
	at := 0
	for _, c := range l.cells {
		i := slices.IndexFunc(columns, func(col column) bool { return c.from >= col.from && c.from < col.to })
		if i < 0 || row[i] != "" {
			return nil, false
		}
		row[i] = c.text
		if begin := strings.Index(l.text[at:], c.text); begin >= 0 {
			begin, at = at+begin, at+begin+len(c.text)
			row[i] = l.written(begin, at, true)
		}
	}
	return row, true
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
