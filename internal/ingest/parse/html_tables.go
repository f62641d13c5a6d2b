package parse

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// prepareTables puts the captions of tables before them, joins the rows of their heads to one, which is
// all that a table in Markdown has, and makes lines of their cells. A table in a cell comes before that around it.
func prepareTables(root *html.Node) {
	var found []*html.Node
	for n := range root.Descendants() {
		if n.DataAtom == atom.Table && n.Parent != nil {
			found = append(found, n)
		}
	}
	for _, table := range slices.Backward(found) {
		for n := table.FirstChild; n != nil; n = n.NextSibling {
			if n.DataAtom == atom.Caption {
				table.RemoveChild(n)
				n.DataAtom, n.Data, n.Attr = atom.P, "p", nil
				table.Parent.InsertBefore(n, table)
				break
			}
		}
		rows, _ := rowsOf(table)
		if isSparse(rows) {
			setAttribute(table, "role", "presentation")
		} else if heads := headRows(table); len(heads) > 1 {
			joinHeads(heads)
		}
		prepareCells(table)
		boundSpans(table)
	}
}

// How many cells a table may have if its rows are filled up to one width and its cells are written wherever they reach.
const (
	maxFilled   = 8      // for each cell that the page writes
	leastFilled = 10_000 // in any table
)

// isSparse reports whether a table would have many more cells in Markdown than the page writes: it is no table of values then.
func isSparse(rows []*html.Node) bool {
	cells, widest := 0, 0
	above, ends := 0, map[int]int{} // columns taken by cells above, and how many of them end before a row
	for i, row := range rows {
		above -= ends[i]
		width := above
		for cell := range cellsOf(row) {
			columns := spanOf(cell, "colspan")
			cells++
			width += columns
			if over := spanOf(cell, "rowspan"); over > 1 {
				above += columns
				ends[i+over] += columns
			}
		}
		widest = max(widest, width)
	}
	return len(rows)*widest > max(leastFilled, maxFilled*cells)
}

// boundSpans bounds over how many columns and rows the cells of a table reach.
func boundSpans(table *html.Node) {
	rows, _ := rowsOf(table)
	for i, row := range rows {
		for cell := range cellsOf(row) {
			boundSpan(cell, "colspan", maxCellSpan)
			boundSpan(cell, "rowspan", min(maxCellSpan, len(rows)-i))
		}
	}
}

func boundSpan(cell *html.Node, key string, most int) {
	if hasAttribute(cell, key) {
		setAttribute(cell, key, strconv.Itoa(min(spanOf(cell, key), most)))
	}
}

// headRows returns the rows of the head of a table: those in thead, else the first rows that have nothing but names
// of columns. It returns nil for a head that has a table itself, or too many rows.
func headRows(table *html.Node) (heads []*html.Node) {
	rows, marked := rowsOf(table)
	for n, row := range rows {
		if n >= marked && (marked > 0 || !isHeadRow(row)) {
			break
		}
		for below := range row.Descendants() {
			if below.DataAtom == atom.Table {
				return nil
			}
		}
		heads = append(heads, row)
	}
	if len(heads) > maxHeadRows || len(heads) == len(rows) {
		return nil
	}
	return heads
}

// rowsOf returns the rows of a table, of which the first marked ones are in its thead.
func rowsOf(table *html.Node) (rows []*html.Node, marked int) {
	for section := range table.ChildNodes() {
		switch section.DataAtom {
		case atom.Tr:
			rows = append(rows, section)
		case atom.Thead, atom.Tbody, atom.Tfoot:
			before := len(rows)
			for row := range section.ChildNodes() {
				if row.DataAtom == atom.Tr {
					rows = append(rows, row)
				}
			}
			if section.DataAtom == atom.Thead && before == 0 {
				marked = len(rows)
			}
		}
	}
	return rows, marked
}

// isHeadRow reports whether a row has only cells that are names.
func isHeadRow(row *html.Node) bool {
	names := 0
	for cell := range row.ChildNodes() {
		switch {
		case cell.DataAtom == atom.Td || attribute(cell, "scope") == "row":
			return false
		case cell.DataAtom == atom.Th:
			names++
		}
	}
	return names > 0
}

// joinHeads writes what stands above each column into the first row of a head, and removes the others.
func joinHeads(heads []*html.Node) {
	var names, last []string
	taken := map[int]int{} // rows for which a column is taken by a cell above, by column
	for _, row := range heads {
		column := 0
		for cell := range cellsOf(row) {
			for taken[column] > 0 {
				taken[column]--
				column++
			}
			text := strings.Join(strings.Fields(textOf(cell)), " ")
			for range spanOf(cell, "colspan") {
				for column >= len(names) {
					names, last = append(names, ""), append(last, "")
				}
				if text != "" && text != last[column] {
					names[column] = strings.TrimSpace(names[column] + " " + text)
				}
				last[column] = text
				taken[column] = spanOf(cell, "rowspan") - 1
				column++
			}
		}
		for ; taken[column] > 0; column++ {
			taken[column]--
		}
	}
	first := heads[0]
	for first.FirstChild != nil {
		first.RemoveChild(first.FirstChild)
	}
	for _, name := range names {
		cell := &html.Node{Type: html.ElementNode, DataAtom: atom.Th, Data: "th"}
		cell.AppendChild(textNode(name))
		first.AppendChild(cell)
	}
	for _, row := range heads[1:] {
		row.Parent.RemoveChild(row)
	}
}

// spanOf returns over how many columns or rows a cell reaches.
func spanOf(cell *html.Node, key string) int {
	n, err := strconv.Atoi(strings.TrimSpace(attribute(cell, key)))
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxCellSpan)
}
