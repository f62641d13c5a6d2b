package parse

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
)

const (
	maxCells  = 20_000_000 // of a workbook; rows may be wide and almost empty
	maxSheets = 5_000      // of a workbook
	maxMerged = 100_000    // merged cells of a sheet that are heeded, and links
	// maxSheetTail bounds what is kept of a sheet after its rows, in bytes.
	maxSheetTail = 8 << 20
)

// xlsx reads a workbook: each sheet under its name, a line for each row, then the texts and
// charts on the sheet. Cells are links where they lead to the web. A formula is its last result; numbers and dates are formatted as in the
// workbook, dates in the format of the reader's country as 2026-01-02. Hidden sheets,
// rows and columns are left out; the property hiddenSheets names the sheets but those that only a program can show.
func (p *parser) xlsx(ctx context.Context) error {
	from, err := p.openPack()
	if err != nil {
		return err
	}
	if err := p.describeOffice(from); err != nil {
		return err
	}
	sheets, err := sheetParts(from)
	if err != nil {
		return err
	}
	// The library trusts the sizes that the file declares.
	frames, err := from.spend()
	if err != nil {
		return err
	}
	book, err := excelize.OpenReader(bytes.NewReader(p.src.Content), excelize.Options{
		UnzipSizeLimit: maxUnpacked, UnzipXMLSizeLimit: maxUnpacked, ShortDatePattern: "yyyy-mm-dd",
	})
	switch {
	case errors.Is(err, excelize.ErrWorkbookPassword):
		return encrypted(p.format)
	case err != nil:
		return broken(p.format, err)
	}
	defer book.Close()
	r := bookReader{parser: p, ctx: ctx, from: from, book: book, frames: frames}
	var hidden []string
	for i, sheet := range sheets {
		if sheet.state == "hidden" {
			hidden = append(hidden, sheet.name)
		}
		if !p.src.Hidden && (sheet.state == "hidden" || sheet.state == "veryHidden") {
			continue
		}
		err := p.text.span(Span{Kind: Sheet, Name: sheetName(sheet.name, i+1)}, func() error { return r.sheet(sheet, i+1) })
		if err != nil {
			return err
		}
		if p.text.full {
			break
		}
	}
	p.property("hiddenSheets", strings.Join(hidden, ", "))
	if r.unknown > 0 {
		p.property("formulasWithoutResults", strconv.Itoa(r.unknown))
	}
	return nil
}

// sheetPart is a sheet of a workbook.
type sheetPart struct {
	name, state string
	relation    relation
}

// sheetParts returns the sheets of a workbook in order. It returns an error if there are more
// than maxSheets, or several that name the same part: the library would read the part for each
// of them.
func sheetParts(from *pack) ([]sheetPart, error) {
	book, err := from.mainPart("xl/workbook.xml")
	if err != nil {
		return nil, err
	}
	data, err := from.part(book)
	if err != nil {
		return nil, err
	}
	list, err := tree(data)
	if err != nil {
		return nil, broken(from.format, err)
	}
	relations, err := from.relations(book)
	if err != nil {
		return nil, err
	}
	var sheets []sheetPart
	list.all("sheets", func(all *node) {
		for _, n := range all.children {
			s := sheetPart{name: n.attr("name"), state: n.attr("state")}
			for _, a := range n.attrs {
				if a.Name.Local == "id" && a.Name.Space != "" {
					s.relation = relations[a.Value]
					if from.repeated(s.relation.target) {
						err = broken(from.format, errors.New("two sheets name the same part"))
					}
				}
			}
			sheets = append(sheets, s)
		}
	})
	if len(sheets) > maxSheets {
		return nil, tooLarge(from.format, "it has %d sheets, over the limit of %d", len(sheets), maxSheets)
	}
	return sheets, err
}

// bookReader reads the sheets of a workbook.
type bookReader struct {
	parser  *parser
	ctx     context.Context
	from    *pack
	book    *excelize.File
	frames  map[string]sheetFrame
	cells   int // read so far
	unknown int // formulas without results
}

// sheet reads a sheet.
func (b *bookReader) sheet(sheet sheetPart, number int) error {
	relations, err := b.from.relations(sheet.relation.target)
	if err != nil {
		return err
	}
	t := &sheetTable{out: &b.parser.text, name: sheetName(sheet.name, number)}
	switch _, found := b.from.files[sheet.relation.target]; {
	case sheet.relation.kind == "chartsheet" || sheet.relation.kind == "dialogsheet":
	case found: // a module of macros is listed as a sheet, but has no part
		if err := b.rows(t, sheet, relations); err != nil {
			return err
		}
	}
	return b.drawings(t, relations)
}

func (b *bookReader) rows(t *sheetTable, sheet sheetPart, relations map[string]relation) error {
	notes, err := b.comments(relations)
	if err != nil {
		return err
	}
	if t.heads, err = b.tableHeads(relations); err != nil {
		return err
	}
	frame := b.frames[sheet.relation.target]
	var tail []byte
	if frame.found {
		tail = frame.tail
	}
	hidden := hiddenColumns(frame.head)
	b.unknown += frame.unknown
	merged, links := newMerges(tail), newCellLinks(tail, relations)
	rows, err := b.book.Rows(sheet.name)
	if err != nil {
		return broken(b.parser.format, err)
	}
	defer rows.Close()
	stored, err := b.book.Rows(sheet.name)
	if err != nil {
		return broken(b.parser.format, err)
	}
	defer stored.Close()
	for number := 1; rows.Next() && stored.Next(); number++ {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		cells, err := rows.Columns()
		if err != nil {
			return broken(b.parser.format, err)
		}
		raw, err := stored.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return broken(b.parser.format, err)
		}
		if b.cells += len(cells) + 1; b.cells > maxCells {
			return tooLarge(b.parser.format, "it has more than %d cells", maxCells)
		}
		for column, note := range notes[number] {
			for len(cells) < column {
				cells = append(cells, "")
			}
			cells[column-1] += note
		}
		row := links.apply(merged.apply(number, cells))
		row.raw = raw
		wholeNumbers(row)
		roundNumbers(row)
		if !b.parser.src.Hidden {
			if rows.GetRowOpts().Hidden {
				t.hide(number)
				continue
			}
			row.hideColumns(hidden)
		}
		t.row(row)
		if t.out.full {
			return nil
		}
	}
	t.finish()
	if err := rows.Error(); err != nil {
		return broken(b.parser.format, err)
	}
	return nil
}

// shortened matches a number that is shown with an exponent because it has more digits than a cell has room for.
var shortened = regexp.MustCompile(`^\d\.\d{6,}E\+\d+$`)

// wholeNumbers shows the whole numbers of a row with all their digits: they are often those of orders and articles.
func wholeNumbers(row sheetRow) {
	for i, raw := range row.raw {
		if i < len(row.cells) && shortened.MatchString(row.cells[i]) && !strings.ContainsFunc(raw, func(r rune) bool { return r < '0' || r > '9' }) {
			row.cells[i] = raw
		}
	}
}

// rounded matches a number or a share that is shown with some of its decimals and no zeros before it.
var rounded = regexp.MustCompile(`^-?(?:0|[1-9]\d*)(?:\.(\d+))?(%?)$`)

// storedDigits are the digits of a number that programs for spreadsheets heed.
const storedDigits = 15

// roundNumbers rounds the decimals of numbers and shares of a row as programs for spreadsheets do: by their digits, halves away from zero,
// so that 0.0725 is 7.3% and not the 7.2% of the nearest binary fraction.
func roundNumbers(row sheetRow) {
	for i, raw := range row.raw {
		if i >= len(row.cells) || row.cells[i] == raw {
			continue
		}
		m := rounded.FindStringSubmatch(row.cells[i])
		stored, err := strconv.ParseFloat(raw, 64)
		if m == nil || err != nil {
			continue
		}
		exact, ok := new(big.Rat).SetString(strconv.FormatFloat(stored, 'g', storedDigits, 64))
		shown, known := new(big.Rat).SetString(strings.TrimSuffix(row.cells[i], "%"))
		if !ok || !known {
			continue
		}
		if m[2] != "" {
			exact.Mul(exact, big.NewRat(100, 1))
		}
		last := new(big.Rat).SetFrac64(1, int64(math.Pow10(min(len(m[1]), storedDigits))))
		if difference := new(big.Rat).Sub(exact, shown); difference.Abs(difference).Cmp(last) < 0 { // else the format shows it in thousands, or as something else
			row.cells[i] = exact.FloatString(len(m[1])) + m[2]
		}
	}
}

// comments returns the comments of a sheet by row and column.
func (b *bookReader) comments(relations map[string]relation) (map[int]map[int]string, error) {
	notes := map[int]map[int]string{}
	add := func(cell, text string) {
		column, row, err := excelize.CellNameToCoordinates(cell)
		if text = strings.Join(strings.Fields(text), " "); err != nil || text == "" {
			return
		}
		if notes[row] == nil {
			notes[row] = map[int]string{}
		}
		notes[row][column] += commentMark + text + ")"
	}
	threads, err := b.from.related(relations, "threadedComment")
	if err != nil {
		return nil, err
	}
	if threads != nil { // the older kind repeats these for older programs
		threads.all("threadedComment", func(n *node) { add(n.attr("ref"), string(n.child("text").content)) })
		return notes, nil
	}
	list, err := b.from.related(relations, "comments")
	if err != nil || list == nil {
		return nil, err
	}
	list.all("comment", func(n *node) {
		var text strings.Builder
		n.child("text").all("t", func(t *node) { text.Write(t.content) })
		add(n.attr("ref"), text.String())
	})
	return notes, nil
}

// tableHeads returns the rows that are heads of the tables that the sheet declares.
func (b *bookReader) tableHeads(relations map[string]relation) (map[int]bool, error) {
	heads := map[int]bool{}
	for _, name := range ofKind(relations, "table") {
		if b.from.repeated(name) {
			continue
		}
		data, err := b.from.optional(name)
		if err != nil {
			return nil, err
		}
		table, err := tree(data)
		if err != nil || table.attr("headerRowCount") == "0" {
			continue
		}
		first, _, _ := strings.Cut(table.attr("ref"), ":")
		if _, row, err := excelize.CellNameToCoordinates(first); err == nil {
			heads[row] = true
		}
	}
	return heads, nil
}

// drawings writes the texts of boxes on a sheet, and its charts.
func (b *bookReader) drawings(t *sheetTable, relations map[string]relation) error {
	out := flow{out: t.out}
	for _, name := range ofKind(relations, "drawing") {
		if b.from.repeated(name) {
			continue
		}
		data, err := b.from.optional(name)
		if err != nil {
			return err
		}
		root, err := tree(data)
		if err != nil {
			continue // the rows can be read without it
		}
		var blocks []block
		root.all("txBody", func(n *node) { blocks = append(blocks, block{text: drawnText(n)}) })
		drawn, err := b.from.relations(name)
		if err != nil {
			return err
		}
		for _, chart := range ofKind(drawn, "chart") {
			more, err := b.from.drawing(relation{kind: "chart", target: chart})
			if err != nil {
				return err
			}
			blocks = append(blocks, more...)
		}
		for _, b := range blocks {
			if b.text != "" || b.table != nil {
				t.heading()
				out.paragraph(b)
			}
		}
	}
	return nil
}

// merges are the merged cells of a sheet.
type merges struct {
	ranges []mergedRange // that begin below the last row, in order
	active []mergedRange // over several rows, that the last row is within
}

type mergedRange struct {
	column, row, lastColumn, lastRow int
	text                             string
}

// maxActive bounds the merged cells over several rows that are heeded in one row.
const maxActive = 1000

// newMerges reads the merged cells from what follows the rows of a sheet.
func newMerges(tail []byte) *merges {
	m := &merges{}
	d := newDecoder(tail)
	for len(m.ranges) < maxMerged {
		token, err := d.Token()
		if err != nil {
			break // the tail ends elements that began before it
		}
		if t, ok := token.(xml.StartElement); ok && t.Name.Local == "mergeCell" {
			first, last, _ := strings.Cut(attrOf(t.Attr, "ref"), ":")
			var r mergedRange
			var err, errLast error
			r.column, r.row, err = excelize.CellNameToCoordinates(first)
			r.lastColumn, r.lastRow, errLast = excelize.CellNameToCoordinates(last)
			if err == nil && errLast == nil {
				m.ranges = append(m.ranges, r)
			}
		}
	}
	slices.SortFunc(m.ranges, func(a, b mergedRange) int { return a.row - b.row })
	return m
}

// apply returns a row, in which a merged cell over several rows has its text if it is short,
// unless the row is blank otherwise.
func (m *merges) apply(number int, cells []string) sheetRow {
	row := sheetRow{number: number, cells: cells}
	m.active = slices.DeleteFunc(m.active, func(r mergedRange) bool { return r.lastRow < number })
	if !blank(cells) {
		for _, r := range m.active {
			for len(row.cells) < r.column {
				row.cells = append(row.cells, "")
			}
			if row.cells[r.column-1] == "" {
				row.cells[r.column-1] = r.text
			}
		}
	}
	for len(m.ranges) > 0 && m.ranges[0].row <= number {
		r := m.ranges[0]
		m.ranges = m.ranges[1:]
		if r.row != number || r.column > len(cells) {
			continue
		}
		if r.lastColumn > r.column {
			if row.wide == nil {
				row.wide = map[int]int{}
			}
			row.wide[r.column-1] = r.lastColumn - r.column + 1
		}
		if r.text = cells[r.column-1]; r.lastRow > r.row && len(r.text) <= maxRepeated && len(m.active) < maxActive {
			m.active = append(m.active, r)
		}
	}
	return row
}

// cellLinks are the addresses outside of the file to which the cells of a sheet lead, by row.
type cellLinks map[int][]cellLink

type cellLink struct {
	column, lastColumn int
	address            string
}

// newCellLinks reads the links from what follows the rows of a sheet. A link over several rows
// counts for the first.
func newCellLinks(tail []byte, relations map[string]relation) cellLinks {
	links := cellLinks{}
	d := newDecoder(tail)
	for read := 0; read < maxMerged; {
		token, err := d.Token()
		if err != nil {
			break // the tail ends elements that began before it
		}
		t, ok := token.(xml.StartElement)
		if !ok || t.Name.Local != "hyperlink" {
			continue
		}
		read++
		to := relations[attrOf(t.Attr, "id")]
		first, last, ranged := strings.Cut(attrOf(t.Attr, "ref"), ":")
		column, row, err := excelize.CellNameToCoordinates(first)
		if err != nil || !to.beyond {
			continue
		}
		lastColumn := column
		if ranged {
			if lastColumn, _, err = excelize.CellNameToCoordinates(last); err != nil {
				continue
			}
		}
		links[row] = append(links[row], cellLink{column, lastColumn, to.target})
	}
	return links
}

// apply makes the cells of a row the links that they are.
func (l cellLinks) apply(row sheetRow) sheetRow {
	for _, to := range l[row.number] {
		for i := to.column - 1; i < min(to.lastColumn, len(row.cells)); i++ {
			if row.cells[i] != "" && !strings.HasPrefix(row.cells[i], "[") { // ranges may overlap
				row.cells[i] = link(row.cells[i], to.address)
			}
		}
	}
	return row
}
