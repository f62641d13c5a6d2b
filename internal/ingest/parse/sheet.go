package parse

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// sheetTable writes the rows of a sheet as lines of "column: value; column: value", so that
// every line is understood wherever the text is cut, and a heading with the sheet's name before
// the first of them.
//
// The names of the columns are the first row of at least two cells that look like names. A row
// of names after a blank row begins another table if the row below it differs in kind. A title
// above the names is a line of its own. Two rows of names, of which the first has cells over
// several columns, make names such as "Depth Low".
type sheetTable struct {
	out  *textBuilder
	name string // see sheetName
	// heads are the rows that the file says to be heads of tables.
	heads map[int]bool

	columns     []string
	valued      map[string]bool // names of columns that a row has had a value of
	pending     *sheetRow       // may be the names of columns
	last        int             // the number of the last row that is not blank
	begun       bool            // a row of several cells was read since the last blank row
	headed      bool            // the sheet's name is written
	first, most int             // columns, from 1
}

// sheetRow is a row of a sheet, or the values of its cells from column 1 on.
type sheetRow struct {
	number int // from 1
	cells  []string
	// wide are the cells, from 0, that extend over columns to the right, with the number of
	// columns; nil if there are none.
	wide map[int]int
	// raw are the numbers of cells as the file stores them, by column; it may be shorter than cells.
	raw []string
}

// row adds a row. Rows come in the order of their numbers; blank ones may be left out.
func (t *sheetTable) row(r sheetRow) {
	filled := 0
	for i, c := range r.cells {
		r.cells[i] = strings.Join(strings.Fields(c), " ")
		if r.cells[i] != "" {
			filled++
		}
	}
	if filled == 0 {
		return
	}
	gap := t.last > 0 && r.number > t.last+1
	t.last = r.number
	if t.settle(&r, gap) {
		return
	}
	if t.heads[r.number] || filled > 1 && (gap || !t.begun) && areHeads(r.cells) {
		r.cells = slices.Clone(r.cells)
		t.pending, t.begun = &r, true
		return
	}
	if gap && filled > 1 && filled < 3 && t.columns != nil && outside(r.cells, t.columns) {
		t.end(r.number - 1)
	}
	t.begun = t.begun || filled > 1
	t.write(r)
}

// hideColumns empties the cells of hidden columns, given by the first and the last, from 1.
func (r *sheetRow) hideColumns(hidden [][2]int) {
	for _, columns := range hidden {
		for column := columns[0]; column <= min(columns[1], len(r.cells)); column++ {
			r.cells[column-1] = ""
		}
	}
}

// hide passes over a hidden row, which is no blank one.
func (t *sheetTable) hide(number int) {
	if t.last == number-1 {
		t.last = number
	}
}

// settle decides whether the pending row has names of columns, now that the row below it is
// known. It reports whether next was part of the names.
func (t *sheetTable) settle(next *sheetRow, gap bool) (consumed bool) {
	head := t.pending
	if head == nil {
		return false
	}
	t.pending = nil
	said := t.heads[head.number]
	if !said && (gap || t.columns != nil && !differ(head.cells, next.cells)) {
		t.begun = t.columns != nil
		t.write(*head)
		return false
	}
	names := slices.Clone(head.cells)
	for i, columns := range head.wide {
		for j := i; j < min(i+columns, i+maxCellSpan); j++ {
			for len(names) <= j {
				names = append(names, "")
			}
			names[j] = head.cells[i]
		}
	}
	if len(head.wide) > 0 && !said && areLabels(next.cells) {
		for i, below := range next.cells {
			for len(names) <= i {
				names = append(names, "")
			}
			if below != names[i] {
				names[i] = strings.TrimSpace(names[i] + " " + below)
			}
		}
		consumed = true
	}
	t.end(head.number - 1)
	t.columns, t.valued = names, map[string]bool{}
	t.out.grids.Begin(grid.Place{Name: t.name, Unit: grid.Row, Sheet: t.name}, names)
	t.first, t.most = 0, 0
	return consumed
}

// finish writes a row that nothing follows.
func (t *sheetTable) finish() {
	if t.pending != nil {
		t.write(*t.pending)
		t.pending = nil
	}
	t.end(t.last)
}

// end ends a table at a row. Names of columns without values are in none of its rows and become a line of their own.
func (t *sheetTable) end(last int) {
	var names []string
	for _, name := range t.columns {
		if name != "" && !t.valued[name] {
			names, t.valued[name] = append(names, name), true
		}
	}
	if len(names) > 0 {
		t.heading()
		start := t.out.Len()
		t.out.write("\nColumns without values: " + strings.Join(names, "; "))
		t.out.numbered(start, Span{Kind: Row, Number: last, Columns: [2]int{max(t.first, 1), max(t.most, len(t.columns))}})
	}
	t.columns = nil
	t.out.grids.End()
}

// write writes a row.
func (t *sheetTable) write(r sheetRow) {
	t.out.grids.Row(r.number, gridCells(r.cells, r.raw))
	var line strings.Builder
	for i, cell := range r.cells {
		if cell == "" {
			continue
		}
		if line.Len() > 0 {
			line.WriteString("; ")
		}
		if i < len(t.columns) && t.columns[i] != "" {
			line.WriteString(t.columns[i] + ": ")
			t.valued[t.columns[i]] = true
		}
		line.WriteString(cell)
		if t.first == 0 || i < t.first-1 {
			t.first = i + 1
		}
		t.most = max(t.most, i+1)
	}
	t.heading()
	start := t.out.Len()
	t.out.write("\n" + line.String())
	t.out.record(start+1, t.columns)
	t.out.numbered(start, Span{Kind: Row, Number: r.number, Columns: [2]int{t.first, max(t.most, len(t.columns))}})
}

// sheetName returns the name of a sheet in one line, or its number if it has none.
func sheetName(name string, number int) string {
	return cmp.Or(textlimit.OneLine(name, maxProperty), "Sheet "+strconv.Itoa(number))
}

// heading writes the name of the sheet once.
func (t *sheetTable) heading() {
	if !t.headed {
		t.out.block("## " + t.name)
		t.out.write("\n")
	}
	t.headed = true
}

// areHeads reports whether cells look like names of columns: short and distinct, with a
// letter, or years after a name.
func areHeads(cells []string) bool {
	seen, lettered := map[string]bool{}, 0
	for _, c := range cells {
		if c == "" {
			continue
		}
		letter := strings.ContainsFunc(c, unicode.IsLetter)
		if seen[c] || len(c) > 100 || startsNumber(c) && !isYear(c) || !letter && !isYear(c) {
			return false
		}
		if letter {
			lettered++
		}
		seen[c] = true
	}
	return len(seen) > 1 && lettered > 0
}

// areLabels reports whether all cells are words.
func areLabels(cells []string) bool {
	for _, c := range cells {
		if c != "" && (startsNumber(c) || len(c) > 100) {
			return false
		}
	}
	return true
}

func isYear(c string) bool {
	return len(c) == 4 && (strings.HasPrefix(c, "19") || strings.HasPrefix(c, "20")) && !strings.ContainsFunc(c, func(r rune) bool { return r < '0' || r > '9' })
}

// startsNumber reports whether a cell begins as a number, an amount or a date does.
func startsNumber(c string) bool {
	c = strings.TrimLeft(c, "+-−($€£¥ ")
	return c != "" && c[0] >= '0' && c[0] <= '9'
}

// differ reports whether the cells of a row below names differ from them: one is a number, or
// there are others.
func differ(names, below []string) bool {
	for i, c := range below {
		if c != "" && (i >= len(names) || names[i] == "" || startsNumber(c)) {
			return true
		}
	}
	return false
}

// outside reports whether a cell is in a column without a name.
func outside(cells, columns []string) bool {
	for i, c := range cells {
		if c != "" && (i >= len(columns) || columns[i] == "") {
			return true
		}
	}
	return false
}
