package parse

import (
	"encoding/xml"
	"slices"
)

// odfSheets reads the tables of a spreadsheet.
type odfSheets struct {
	open   []*odfCells // one, or none outside of a sheet
	count  int         // of sheets that were begun
	cells  int         // read so far
	note   string      // comments on the cell
	boxes  []block     // on the sheet
	merged *merges
}

// odfCells is the sheet that is being read.
type odfCells struct {
	table  sheetTable
	skip   bool // the sheet is hidden
	start  int  // in the text
	row    sheetRow
	number int    // of the row
	copies int    // of the row
	copied int    // of the cell
	width  int    // of the row, in columns
	raw    string // the number or date of the cell
	across int    // columns of the cell
	down   int    // rows of the cell

	defined   int      // columns so far
	hidden    [][2]int // the first and the last of hidden columns, from 1
	hiddenRow bool
}

func (o *odfReader) startTable(t xml.StartElement) {
	if o.format == ODS && (len(o.sheets.open) > 0 || o.parent() == "spreadsheet") {
		o.startSheet(t)
		return
	}
	switch t.Name.Local {
	case "table":
		o.flow.startTable()
		o.spans, o.columns = append(o.spans, map[int]int{}), append(o.columns, 0)
	case "table-row":
		if n := len(o.columns); n > 0 {
			o.columns[n-1] = 0
		}
		if o.parent() == "table-header-rows" {
			o.flow.headRow()
		}
	case "table-cell":
		across := max(number(attrOf(t.Attr, "number-columns-spanned")), 1)
		o.flow.startCell(across, false)
		if n := len(o.columns); n > 0 {
			if down := number(attrOf(t.Attr, "number-rows-spanned")); down > 1 && len(o.spans[n-1]) < 1<<14 {
				o.spans[n-1][o.columns[n-1]] = down - 1
			}
			o.columns[n-1]++
		}
	case "covered-table-cell":
		n := len(o.columns)
		if n == 0 {
			return
		}
		column := o.columns[n-1]
		o.columns[n-1]++
		if o.spans[n-1][column] > 0 {
			o.spans[n-1][column]--
			o.flow.startCell(1, true)
			o.flow.endCell()
		}
	}
}

func (o *odfReader) endTable(name string) {
	if len(o.sheets.open) > 0 {
		o.endSheet(name)
		return
	}
	switch name {
	case "table":
		if n := len(o.spans); n > 0 {
			o.spans, o.columns = o.spans[:n-1], o.columns[:n-1]
		}
		if p := o.paragraph(); p != nil && p.open == len(o.flow.open) {
			o.flow.startBox()
			o.flow.endTable()
			for _, b := range o.flow.endBox() {
				o.emit(b)
			}
			return
		}
		o.flow.endTable()
	case "table-row":
		o.flow.endRow(false)
	case "table-cell":
		o.flow.endCell()
	}
}

func (o *odfReader) startSheet(t xml.StartElement) {
	if t.Name.Local == "table" && o.parent() == "spreadsheet" {
		o.sheets.count++
		name := sheetName(attrOf(t.Attr, "name"), o.sheets.count)
		hidden := o.styles[attrOf(t.Attr, "style-name")].hidden
		if hidden {
			o.hiddenSheets = append(o.hiddenSheets, name)
		}
		o.sheets.open = append(o.sheets.open, &odfCells{table: sheetTable{out: o.flow.out, name: name}, skip: hidden && !o.all, start: o.flow.out.Len()})
		o.sheets.merged, o.sheets.boxes = &merges{}, nil
		return
	}
	if len(o.sheets.open) == 0 {
		return
	}
	s := o.sheets.open[0]
	switch t.Name.Local {
	case "table-column":
		columns := min(max(number(attrOf(t.Attr, "number-columns-repeated")), 1), 1<<14-s.defined)
		if visibility := attrOf(t.Attr, "visibility"); !o.all && (visibility == "collapse" || visibility == "filter") && columns > 0 {
			s.hidden = append(s.hidden, [2]int{s.defined + 1, s.defined + columns})
		}
		s.defined += max(columns, 0)
	case "table-row":
		visibility := attrOf(t.Attr, "visibility")
		s.hiddenRow = !o.all && (visibility == "collapse" || visibility == "filter")
		s.number++
		s.copies = max(number(attrOf(t.Attr, "number-rows-repeated")), 1)
		s.row, s.width = sheetRow{number: s.number}, 0
	case "table-cell", "covered-table-cell":
		s.copied = max(number(attrOf(t.Attr, "number-columns-repeated")), 1)
		s.across = max(number(attrOf(t.Attr, "number-columns-spanned")), 1)
		s.down = max(number(attrOf(t.Attr, "number-rows-spanned")), 1)
		o.sheets.note = ""
		s.raw = storedValue(t.Attr)
		o.flow.startBox()
	case "shapes":
		o.flow.startBox()
	}
}

func (o *odfReader) endSheet(name string) {
	s := o.sheets.open[0]
	switch name {
	case "shapes":
		o.sheets.boxes = append(o.sheets.boxes, o.flow.endBox()...)
	case "table-cell", "covered-table-cell":
		o.endSheetCell(s)
	case "table-row":
		for i := range s.copies {
			if i > 0 && (len(s.row.cells) == 0 || o.flow.out.full) {
				break
			}
			o.count(len(s.row.cells) + 1)
			row := o.sheets.merged.apply(s.number+i, slices.Clone(s.row.cells))
			row.raw = s.row.raw
			if s.hiddenRow || s.skip {
				s.table.hide(row.number)
				continue
			}
			row.hideColumns(s.hidden)
			s.table.row(row)
			if o.failed != nil || o.ctx.Err() != nil {
				return
			}
		}
		s.number += s.copies - 1
	case "table":
		if o.parent() != "spreadsheet" {
			return
		}
		s.table.finish()
		for _, b := range o.sheets.boxes {
			if s.skip {
				break
			}
			s.table.heading()
			o.flow.paragraph(b)
		}
		o.sheets.open = nil
		from := s.start
		for from < o.flow.out.Len() && o.flow.out.String()[from] == '\n' {
			from++
		}
		if from < o.flow.out.Len() {
			o.flow.out.spans = append(o.flow.out.spans, Span{Kind: Sheet, Start: from, End: o.flow.out.Len(), Name: s.table.name})
		}
	}
}

// storedValue returns the number or the date of a cell, which may have more digits than its text; empty for others.
func storedValue(attributes []xml.Attr) string {
	switch attrOf(attributes, "value-type") {
	case "float", "percentage", "currency":
		return attrOf(attributes, "value")
	case "date":
		return attrOf(attributes, "date-value")
	}
	return ""
}

// endSheetCell adds the cell, and its copies, to the row.
func (o *odfReader) endSheetCell(s *odfCells) {
	text := inline(o.flow.endBox()) + o.sheets.note
	if text == "" {
		s.width += s.copied
		return
	}
	if s.width+s.copied > 1<<14 {
		return // no sheet is that wide
	}
	o.count(s.copied)
	for len(s.row.cells) < s.width {
		s.row.cells = append(s.row.cells, "")
	}
	if s.across > 1 || s.down > 1 {
		m := o.sheets.merged
		at := mergedRange{s.width + 1, s.number, s.width + s.across, s.number + s.down - 1, ""}
		if len(m.ranges) < maxMerged {
			m.ranges = append(m.ranges, at)
		}
	}
	for len(s.row.raw) < s.width {
		s.row.raw = append(s.row.raw, "")
	}
	for range s.copied {
		s.row.cells, s.row.raw = append(s.row.cells, text), append(s.row.raw, s.raw)
	}
	s.width += s.copied
}

// count counts cells of a workbook.
func (o *odfReader) count(cells int) {
	if o.sheets.cells += cells; o.sheets.cells > maxCells {
		o.failed = tooLarge(o.format, "it has more than %d cells", maxCells)
	}
}
