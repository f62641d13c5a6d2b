package pdftext

import (
	"unicode"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// Bounds of the structure tree of a page. What is beyond them is not looked at.
const (
	maxElements     = 20_000
	maxElementDepth = 40
)

// taggedCells returns the number of the table cell that each marked content of a page belongs to, by
// its identifier (ISO 32000-1, 14.7.4); nil if the file marks no cells.
func (d *document) taggedCells(page requests.Page) map[int]int {
	if !d.tagged {
		return nil
	}
	found, err := d.FPDF_StructTree_GetForPage(&requests.FPDF_StructTree_GetForPage{Page: page})
	if err != nil {
		return nil
	}
	defer func() { _, _ = d.FPDF_StructTree_Close(&requests.FPDF_StructTree_Close{StructTree: found.StructTree}) }()
	t := cellTree{document: d, cells: map[int]int{}}
	counted, err := d.FPDF_StructTree_CountChildren(&requests.FPDF_StructTree_CountChildren{StructTree: found.StructTree})
	if err != nil {
		return nil
	}
	for i := range counted.Count {
		child, err := d.FPDF_StructTree_GetChildAtIndex(&requests.FPDF_StructTree_GetChildAtIndex{StructTree: found.StructTree, Index: i})
		if err == nil {
			t.walk(child.StructElement, 0, 0)
		}
	}
	return t.cells
}

// cellTree collects the cells of a structure tree.
type cellTree struct {
	*document
	cells    map[int]int
	elements int
	last     int // number of a cell
}

// walk adds the marked contents below an element of a cell, 0 outside of one.
func (t *cellTree) walk(element references.FPDF_STRUCTELEMENT, cell, depth int) {
	if t.elements++; t.elements > maxElements || depth > maxElementDepth {
		return
	}
	kind, err := t.FPDF_StructElement_GetType(&requests.FPDF_StructElement_GetType{StructElement: element})
	if err == nil && (kind.Type == "TD" || kind.Type == "TH") {
		t.last++
		cell = t.last
	}
	counted, err := t.FPDF_StructElement_CountChildren(&requests.FPDF_StructElement_CountChildren{StructElement: element})
	if err != nil {
		return
	}
	for i := range min(counted.Count, maxElements) {
		child, err := t.FPDF_StructElement_GetChildAtIndex(&requests.FPDF_StructElement_GetChildAtIndex{StructElement: element, Index: i})
		if err == nil {
			t.walk(child.StructElement, cell, depth+1)
			continue
		}
		if cell == 0 {
			continue
		}
		id, err := t.FPDF_StructElement_GetChildMarkedContentID(&requests.FPDF_StructElement_GetChildMarkedContentID{StructElement: element, Index: i})
		if err == nil {
			t.cells[id.ChildMarkedContentID] = cell
		}
	}
}

// cellOf returns the number of the cell that a character belongs to, 0 if it belongs to none.
func (p *pageReader) cellOf(index int) int {
	found, err := p.FPDFText_GetTextObject(&requests.FPDFText_GetTextObject{TextPage: p.text, Index: p.at(index)})
	if err != nil {
		return 0
	}
	id, err := p.FPDFPageObj_GetMarkedContentID(&requests.FPDFPageObj_GetMarkedContentID{PageObject: found.TextObject})
	if err != nil {
		return 0
	}
	return p.cells[id.MarkedContentID]
}

// splitTagged finds the cells of a line by the tags of the file. It reports whether there are any.
func (p *pageReader) splitTagged(l *line) bool {
	if len(p.cells) == 0 || l.turned != 0 {
		return false
	}
	current, begun := p.cellOf(l.start), l.start
	if current == 0 {
		return false
	}
	add := func(end int) { // a cell that ends before a character
		last := end - 1
		for last > begun && !p.visible(last) {
			last--
		}
		from, _ := p.origin(begun)
		if to, ok := p.end(last); ok {
			l.cells = append(l.cells, cell{clean(string(p.chars[begun:end])), from, to})
		}
	}
	for i := l.start + 1; i <= l.last; i++ {
		if !unicode.IsSpace(p.chars[i-1]) || !p.visible(i) {
			continue
		}
		if next := p.cellOf(i); next != current {
			add(i)
			current, begun = next, i
		}
	}
	add(l.last + 1)
	if len(l.cells) < 2 {
		l.cells = nil
	}
	return true
}
