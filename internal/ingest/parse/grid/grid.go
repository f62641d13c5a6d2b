// Package grid gives the rows of a table types: from cells as a file shows them it makes columns of
// numbers, dates, texts and booleans, with which one can compute.
//
//	b := grid.Builder{}
//	b.Begin(grid.Place{Name: "prices", Unit: grid.Row, Sheet: "2026"}, []string{"Part", "Price (EUR)"})
//	b.Row(2, []grid.Cell{{Text: "Cleat"}, {Text: "14.50"}})
//	b.End()
//	tables := b.Tables()
//
// A value is typed only if the whole column agrees: one text among numbers makes a column of texts, as a
// sum over the others would be wrong. The same holds for two currencies, and for dates whose day and
// month cannot be told apart. The last row is left out if it is named a total.
//
// The package does no I/O. A Builder is not safe for concurrent use.
package grid

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of the tables of one document. A table over a limit is listed without its rows, with the reason.
const (
	MaxTables  = 100     // further ones are not listed
	MaxColumns = 200     // of a table
	MaxRows    = 200_000 // of a table
	MaxBytes   = 32 << 20
	// SegmentBytes is the size from which rows begin another segment.
	SegmentBytes = 128 << 10

	maxTitle   = 200 // bytes of the name of a table or column
	maxSamples = 3   // values of a column that its description shows
	maxSample  = 60  // bytes of one
)

// Type is the type of the values of a column.
type Type string

// The types of columns.
const (
	Number  Type = "number"
	Date    Type = "date" // of texts such as 2026-03-01 or 2026-03-01T12:00:00, in UTC
	Text    Type = "text"
	Boolean Type = "boolean"
)

// Unit is what the numbers of rows count.
type Unit string

// The units of the numbers of rows.
const (
	Row      Unit = "row"      // of a sheet, from 1
	Line     Unit = "line"     // of a text file, from 1
	TableRow Unit = "tableRow" // below the head of the table, from 1
)

// Place is where a table stands in its document.
type Place struct {
	Name  string `json:"name"`            // of the sheet, the caption or the heading above; empty for none
	Unit  Unit   `json:"unit"`            // of the numbers of rows
	Sheet string `json:"sheet,omitempty"` // empty unless Unit is Row
	// StartByte and EndByte are those of the table in the text of the document; 0 if Unit is not TableRow.
	StartByte int `json:"startByte,omitempty"`
	EndByte   int `json:"endByte,omitempty"`
}

// Column is a column of a table.
type Column struct {
	Name    string   `json:"name"`  // of letters of any script, digits and _; unique in its table
	Title   string   `json:"title"` // as the file has it
	Type    Type     `json:"type"`
	Unit    string   `json:"unit,omitempty"`    // of numbers: a currency, % or another unit
	Number  int      `json:"number"`            // in the sheet or file, from 1
	Samples []string `json:"samples,omitempty"` // up to 3 different values, the first ones
}

// Description is what is known of a table besides its rows.
type Description struct {
	Place
	Columns  []Column `json:"columns"`
	RowCount int      `json:"rowCount"`
	First    int      `json:"first"` // numbers of the first and the last row
	Last     int      `json:"last"`
	Notes    []string `json:"notes,omitempty"`   // what a reader of results should know
	LeftOut  string   `json:"leftOut,omitempty"` // why the rows are not kept; empty if they are
}

// Table is a table with typed values.
type Table struct {
	Description
	// Segments are JSON arrays of rows. A row is an array of its number and a value for each column: a
	// number, a text, a boolean, or null for an empty cell.
	Segments [][]byte
}

// Bytes returns the size of the values.
func (t Table) Bytes() (n int) {
	for _, s := range t.Segments {
		n += len(s)
	}
	return n
}

// Cell is a cell as the file shows it. Raw is a number or a date as a spreadsheet stores it, which may have more
// digits than are shown; empty for none.
type Cell struct{ Text, Raw string }

// Builder collects the tables of a document. Its zero value is empty.
type Builder struct {
	tables []Table
	bytes  int // of the values of tables

	place   Place
	columns []int // positions of the columns with names
	titles  []string
	rows    []row
	held    int // bytes of cells in rows
	leftOut string
	count   int
	first   int
	last    int
	open    bool
}

type row struct {
	number int
	cells  []Cell // by column
}

// Begin begins a table, and ends the one before. titles are the cells of its head: columns without one
// are left out. A table of less than two columns is ignored.
func (b *Builder) Begin(place Place, titles []string) {
	b.End()
	place.Name, place.Sheet = cut(clean(place.Name), maxTitle), cut(clean(place.Sheet), maxTitle)
	b.place, b.columns, b.titles, b.rows, b.held, b.leftOut, b.count, b.first, b.last = place, nil, nil, nil, 0, "", 0, 0, 0
	for i, title := range titles {
		if title = cut(strings.Join(strings.Fields(clean(title)), " "), maxTitle); title != "" {
			b.columns, b.titles = append(b.columns, i), append(b.titles, title)
		}
	}
	b.open = len(b.columns) > 1 && len(b.tables) < MaxTables
	if len(b.columns) > MaxColumns {
		b.leftOut = fmt.Sprintf("it has %d columns, over the limit of %d", len(b.columns), MaxColumns)
		b.columns, b.titles = b.columns[:MaxColumns], b.titles[:MaxColumns]
	}
}

// Row adds a row to the table that is open, if there is one. It ignores a row that is blank in all columns. It keeps no cells.
func (b *Builder) Row(number int, cells []Cell) {
	if !b.open {
		return
	}
	filled := false
	for _, c := range b.columns {
		filled = filled || c < len(cells) && strings.TrimSpace(cells[c].Text) != ""
	}
	if !filled {
		return
	}
	if b.count == 0 {
		b.first = number
	}
	b.count, b.last = b.count+1, number
	if b.count > MaxRows {
		b.leftOut = fmt.Sprintf("it has over %d rows", MaxRows)
	}
	if b.leftOut != "" {
		b.rows = nil
		return
	}
	kept := row{number: number, cells: make([]Cell, len(b.columns))}
	for i, c := range b.columns {
		if c < len(cells) {
			kept.cells[i] = Cell{strings.TrimSpace(clean(cells[c].Text)), cells[c].Raw}
			b.held += len(kept.cells[i].Text) + 2
		}
	}
	b.rows = append(b.rows, kept)
	if b.bytes+b.held > MaxBytes {
		b.leftOut = fmt.Sprintf("the tables of the document have over %d bytes", MaxBytes)
	}
}

// End ends the table that is open.
func (b *Builder) End() {
	if !b.open {
		return
	}
	b.open = false
	if b.count == 0 {
		return
	}
	t := Table{Description: Description{Place: b.place, RowCount: b.count, First: b.first, Last: b.last, LeftOut: b.leftOut}}
	if n := len(b.rows); n > 2 && b.leftOut == "" && isTotal(b.rows[n-1].cells) {
		t.Notes = append(t.Notes, fmt.Sprintf("%s %d is a total and not counted among the rows", noun(b.place.Unit), b.rows[n-1].number))
		b.rows = b.rows[:n-1]
		t.RowCount, t.Last = n-1, b.rows[n-2].number
	}
	names := namesOf(b.titles)
	if b.leftOut != "" {
		b.rows = nil
	}
	values := make([]column, len(b.columns))
	for i := range b.columns {
		values[i] = typed(b.rows, i)
		c := Column{Name: names[i], Title: b.titles[i], Type: values[i].kind, Unit: values[i].unit, Number: b.columns[i] + 1}
		if c.Type == Number && c.Unit == "" {
			c.Unit = unitOfTitle(c.Title)
		}
		if values[i].note != "" {
			t.Notes = append(t.Notes, c.Name+" "+values[i].note)
		}
		c.Samples = samples(b.rows, i, values[i])
		t.Columns = append(t.Columns, c)
	}
	t.Segments = segments(b.rows, values)
	b.bytes += t.Bytes()
	if b.bytes > MaxBytes {
		b.bytes -= t.Bytes()
		t.Segments, t.LeftOut = nil, fmt.Sprintf("the tables of the document have over %d bytes", MaxBytes)
	}
	b.tables, b.rows = append(b.tables, t), nil
}

// Tables returns the tables that have ended.
func (b *Builder) Tables() []Table { return b.tables }

// segments encodes rows.
func segments(rows []row, columns []column) (all [][]byte) {
	var out []byte
	for _, r := range rows {
		out = append(out, map[bool]byte{true: '[', false: ','}[len(out) == 0], '[')
		out = strconv.AppendInt(out, int64(r.number), 10)
		for i := range columns {
			out = append(out, ',')
			out = append(out, columns[i].json(r.cells[i])...)
		}
		out = append(out, ']')
		if len(out) >= SegmentBytes {
			all, out = append(all, append(out, ']')), nil
		}
	}
	if len(out) > 0 {
		all = append(all, append(out, ']'))
	}
	return all
}

func samples(rows []row, at int, c column) (found []string) {
	for _, r := range rows {
		value := c.value(r.cells[at])
		if value = cut(value, maxSample); value != "" && !slices.Contains(found, value) {
			if found = append(found, value); len(found) == maxSamples {
				break
			}
		}
	}
	return found
}

// totals are what the first cell of a row of totals says, in lower case.
var totals = []string{"total", "totals", "grand total", "sum", "sum total", "overall", "gesamt", "summe", "gesamtsumme", "total général", "somme", "totale", "suma", "totaal"}

func isTotal(cells []Cell) bool {
	at := slices.IndexFunc(cells, func(c Cell) bool { return c.Text != "" })
	return at >= 0 && slices.Contains(totals, strings.ToLower(strings.TrimRight(strings.Trim(cells[at].Text, "*_ "), ":")))
}

func noun(u Unit) string {
	if u == Line {
		return "line"
	}
	return "row"
}

// quote returns a text as JSON.
func quote(text string) []byte {
	out, _ := json.Marshal(text) // a string never fails
	return out
}

// clean returns a text as the database can store it: valid UTF-8 without null characters.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// cut returns the beginning of a text of at most so many bytes, of whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := 0
	for i := range text {
		if i > most {
			break
		}
		end = i
	}
	return text[:end]
}
