package parse

import (
	"iter"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxGridCell is the text of a cell, in bytes, up to which a table holds values. Larger ones lay out a page.
const maxGridCell = 2000

// prepareCells makes the cells of a table lines, as those of a table in Markdown are: paragraphs, items and lines follow each
// other, and a table within a cell is text. A short cell over several rows is repeated in each, and a first row of names is the
// head of a table that marks none. In a table that lays out a page, blanks separate the cells. Tables within its cells are
// prepared before it.
func prepareCells(table *html.Node) {
	rows, marked := rowsOf(table)
	grid := isGrid(table, rows)
	if grid {
		repeatCells(rows)
		if marked == 0 {
			markHead(rows)
		}
	}
	for _, row := range rows {
		for cell := range cellsOf(row) {
			if grid {
				makeLine(cell)
			} else {
				cell.AppendChild(textNode(" "))
			}
		}
	}
}

// markHead makes the first row of a table without names of rows and columns its head, if its cells look like names and
// others do not.
func markHead(rows []*html.Node) {
	for _, row := range rows {
		for cell := range row.ChildNodes() {
			if cell.DataAtom == atom.Th {
				return
			}
		}
	}
	if !areNames(textsOf(rows[0])) || areNames(textsOf(rows[1])) && areNames(textsOf(rows[len(rows)-1])) {
		return
	}
	for cell := range rows[0].ChildNodes() {
		if cell.DataAtom == atom.Td {
			cell.DataAtom, cell.Data = atom.Th, "th"
		}
	}
}

// cellsOf yields the cells of a row.
func cellsOf(row *html.Node) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		for n := range row.ChildNodes() {
			if (n.DataAtom == atom.Td || n.DataAtom == atom.Th) && !yield(n) {
				return
			}
		}
	}
}

// textsOf returns the texts of the cells of a row.
func textsOf(row *html.Node) (texts []string) {
	for cell := range cellsOf(row) {
		texts = append(texts, textOf(cell))
	}
	return texts
}

// maxRepeats bounds the cells that are added to a table, in number.
const maxRepeats = 1000

// repeatCells writes short cells over several rows into each of them, if all such cells of the table are short.
func repeatCells(rows []*html.Node) {
	repeats := 0
	for _, row := range rows {
		for cell := range cellsOf(row) {
			over := spanOf(cell, "rowspan") - 1
			if repeats += over; over > 0 && len(textOf(cell)) > maxRepeated || over == maxCellSpan-1 {
				return
			}
		}
	}
	if repeats == 0 || repeats > maxRepeats {
		return
	}
	type span struct {
		cell *html.Node
		left int // rows
	}
	above := map[int]span{} // by column
	for _, row := range rows {
		column := 0
		repeat := func(before *html.Node) {
			for above[column].left > 0 {
				over := above[column]
				columns := spanOf(over.cell, "colspan")
				row.InsertBefore(copyOf(over.cell), before)
				above[column] = span{over.cell, over.left - 1}
				column += columns
			}
		}
		for _, cell := range slices.Collect(cellsOf(row)) {
			repeat(cell)
			if over := spanOf(cell, "rowspan") - 1; over > 0 {
				cell.Attr = slices.DeleteFunc(cell.Attr, func(a html.Attribute) bool { return a.Key == "rowspan" })
				above[column] = span{cell, over}
			}
			column += spanOf(cell, "colspan")
		}
		repeat(nil)
	}
}

// copyOf returns a copy of a cell with its text.
func copyOf(cell *html.Node) *html.Node {
	twin := &html.Node{Type: html.ElementNode, DataAtom: cell.DataAtom, Data: cell.Data, Attr: slices.Clone(cell.Attr)}
	twin.AppendChild(textNode(textOf(cell)))
	return twin
}

// isGrid reports whether a table holds values: most of its rows have several cells, none of which is large or has a heading of a
// page.
func isGrid(table *html.Node, rows []*html.Node) bool {
	if attribute(table, "role") == "presentation" {
		return false
	}
	several := 0
	for _, row := range rows {
		cells := 0
		for cell := range cellsOf(row) {
			if cells++; !isValue(cell) {
				return false
			}
		}
		if cells > 1 {
			several++
		}
	}
	return len(rows) > 1 && several*2 > len(rows)
}

// isValue reports whether a cell may be one of a grid.
func isValue(cell *html.Node) bool {
	left := maxGridCell
	for n := range cell.Descendants() {
		switch n.DataAtom {
		case atom.H1, atom.H2, atom.Form:
			return false
		}
		if n.Type == html.TextNode {
			if left -= len(strings.TrimSpace(n.Data)); left < 0 {
				return false
			}
		}
	}
	return true
}

// makeLine makes text of the blocks in a cell.
func makeLine(cell *html.Node) {
	nodes := slices.Collect(cell.Descendants())
	for _, n := range nodes {
		switch n.DataAtom {
		case atom.Br, atom.Hr:
			*n = html.Node{Type: html.TextNode, Data: " ", Parent: n.Parent, PrevSibling: n.PrevSibling, NextSibling: n.NextSibling}
		case atom.P, atom.Div, atom.Section, atom.Article, atom.Pre, atom.Blockquote, atom.Address, atom.Center, atom.Figure, atom.Figcaption, atom.Details, atom.Summary,
			atom.Ul, atom.Ol, atom.Dl, atom.Dt, atom.Dd, atom.Table, atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot, atom.H3, atom.H4, atom.H5, atom.H6:
			makeInline(n, " ")
		case atom.Li, atom.Tr:
			makeInline(n, "; ")
		case atom.Td, atom.Th:
			makeInline(n, ", ")
		}
		if n.Type == html.TextNode {
			n.Data = strings.Map(func(r rune) rune {
				if r == '\n' || r == '\r' {
					return ' '
				}
				return r
			}, n.Data)
		}
	}
}

// makeInline makes text of a block, between blanks. A mark instead of a blank separates it from an item before it, unless that
// ends a sentence itself.
func makeInline(n *html.Node, mark string) {
	after := mark == " "
	before := n.PrevSibling
	for before != nil && before.Type == html.TextNode && strings.TrimSpace(before.Data) == "" {
		before = before.PrevSibling
	}
	if before == nil {
		mark = " "
	} else if text := strings.TrimSpace(textOf(before)); text == "" || strings.ContainsAny(text[len(text)-1:], ".;,:!?") {
		mark = " "
	}
	n.Parent.InsertBefore(textNode(mark), n)
	if after {
		n.Parent.InsertBefore(textNode(" "), n.NextSibling)
	}
	n.DataAtom, n.Data, n.Attr = atom.Span, "span", nil
}

func textNode(text string) *html.Node { return &html.Node{Type: html.TextNode, Data: text} }
