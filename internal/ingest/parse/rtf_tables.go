package parse

type rtfTable struct {
	inCell bool
	cell   rtfCell
	cells  []rtfCell // of the row
	edges  []int     // the right edges of the cells of the first row
}

// rtfCell is the definition of a cell.
type rtfCell struct {
	above, left bool // continues that cell
	edge        int  // twips
}

// structure reads the ends of paragraphs, cells and rows.
func (r *rtfReader) structure(word string, value int) {
	if r.state.to == capturedText || r.state.to == dropped && r.state.name != "nesttableprops" {
		return
	}
	switch word {
	case "par", "sect", "page":
		r.endParagraph()
	case "cell", "nestcell":
		r.endCell(word)
	case "row", "nestrow":
		r.endRow()
	case "trowd":
		if t := r.table(); t != nil {
			t.cells, t.cell = t.cells[:0], rtfCell{}
		} else {
			r.openTables(1)
		}
	case "trhdr":
		if r.table() != nil {
			r.flow.headRow()
		}
	case "clvmrg":
		r.define(func(c *rtfCell) { c.above = true })
	case "clmrg":
		r.define(func(c *rtfCell) { c.left = true })
	case "cellx":
		if t := r.table(); t != nil && len(t.cells) < 1<<10 {
			t.cell.edge = value
			t.cells = append(t.cells, t.cell)
			t.cell = rtfCell{}
		}
	}
}

func (r *rtfReader) define(change func(*rtfCell)) {
	if t := r.table(); t != nil {
		change(&t.cell)
	}
}

// table returns the innermost table of the box, or nil.
func (r *rtfReader) table() *rtfTable {
	if n := len(r.tables); n > r.base {
		return r.tables[n-1]
	}
	return nil
}

// openTables opens tables of the box up to a nesting, and closes deeper ones.
func (r *rtfReader) openTables(nesting int) {
	r.closeTables(nesting)
	for len(r.tables)-r.base < nesting {
		if t := r.table(); t != nil && !t.inCell {
			r.flow.startCell(1, false)
			t.inCell = true
		}
		r.flow.startTable()
		r.tables = append(r.tables, &rtfTable{})
	}
}

// closeTables closes the tables of the box that are nested deeper.
func (r *rtfReader) closeTables(nesting int) {
	for len(r.tables)-r.base > nesting {
		t := r.table()
		r.tables = r.tables[:len(r.tables)-1]
		if t.inCell {
			r.flow.endCell()
		}
		r.flow.endTable()
	}
}

func (r *rtfReader) endCell(word string) {
	nesting := 1
	if word == "nestcell" {
		nesting = max(r.state.format.nesting, 2)
	}
	r.writeParagraph(nesting)
	t := r.table()
	if !t.inCell {
		r.flow.startCell(1, false)
	}
	t.inCell = false
	r.flow.endCell()
}

// endRow ends a row, whose cells are known now.
func (r *rtfReader) endRow() {
	t := r.table()
	if t == nil {
		return
	}
	if t.inCell {
		t.inCell = false
		r.flow.endCell()
	}
	if n := len(r.flow.tables); n > 0 {
		r.flow.tables[n-1].row = t.merge(r.flow.tables[n-1].row)
	}
	r.flow.endRow(false)
}

// merge applies the definitions of cells to a row.
func (t *rtfTable) merge(cells []*flowCell) []*flowCell {
	var row []*flowCell
	left := -1 << 31
	for i, c := range cells {
		var of rtfCell
		if i < len(t.cells) {
			of = t.cells[i]
		} else if len(t.cells) > 0 && len(c.blocks) == 0 {
			continue // LibreOffice writes more cells than it defines
		}
		c.above = of.above
		if of.left && len(row) > 0 && len(c.blocks) == 0 {
			row[len(row)-1].span++
			continue
		}
		columns := 0
		for _, edge := range t.edges {
			if edge > left && edge <= of.edge {
				columns++
			}
		}
		left = of.edge
		c.span = min(max(columns, 1), maxCellSpan)
		row = append(row, c)
	}
	if t.edges == nil {
		for _, c := range t.cells[:min(len(t.cells), maxCellSpan)] {
			t.edges = append(t.edges, c.edge)
		}
	}
	return row
}
