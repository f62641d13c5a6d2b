package parse

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// dialect is how a CSV file is written.
type dialect struct {
	delimiter rune
	quote     byte // '"', '\'' or noQuote
	skip      int  // bytes before the first record
	hasNames  bool // the first record holds the names of the columns
	types     []columnType
}

// noQuote stands for a file in which no character encloses fields.
const noQuote = 0

const (
	maxQuotedLines = 1000     // of a field; beyond them its quote is a character of the text
	maxDialectRows = 100      // records by which a dialect is recognized
	dialectSample  = 64 << 10 // bytes by which a dialect is recognized
)

// errQuote means that a quote is not closed within maxQuotedLines.
var errQuote = errors.New("a quote is not closed")

// dialectOf recognizes the dialect of a file by its first records: the delimiter that gives
// most of them the same number of fields, more than one.
func dialectOf(text string, tabs bool) dialect {
	d := dialect{delimiter: ',', quote: '"'}
	if line, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(line, "sep=") && len(strings.TrimRight(line, "\r")) == len("sep=;") {
		d.delimiter, d.skip = rune(line[len("sep=")]), min(len(line)+1, len(text))
		d.describe(text)
		return d
	}
	best := 0.0
	for _, delimiter := range ",;\t|" {
		for _, quote := range []byte{'"', '\''} {
			c := dialect{delimiter: delimiter, quote: quote}
			score := c.score(text)
			if quote == '\'' {
				score *= 0.9 // an apostrophe is more often a letter
			}
			if tabs && delimiter == '\t' {
				score *= 2
			}
			if score > best {
				best, d = score, c
			}
		}
	}
	d.describe(text)
	return d
}

// sample returns the first records of a file as far as they are complete.
func (d dialect) sample(text string) (rows [][]string) {
	text = text[d.skip:]
	if len(text) > dialectSample {
		text = text[:dialectSample]
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	d.skip = 0
	_ = d.records(context.Background(), text, func(_ int, row []string) bool { // what is broken has no more rows
		rows = append(rows, append([]string{}, row...))
		return len(rows) < maxDialectRows
	})
	return rows
}

// score says how well a dialect fits: the share of records with the most frequent number of
// fields, and a little for each field. It is 0 for records of one field.
func (d dialect) score(text string) float64 {
	rows := d.sample(text)
	count := map[int]int{}
	common, enclosed := 0, 0
	for _, row := range rows {
		count[len(row)]++
		if n := count[len(row)]; n > count[common] || n == count[common] && len(row) > common {
			common = len(row)
		}
		for _, cell := range row {
			if len(cell) > 1 && cell[0] == '"' && cell[len(cell)-1] == '"' {
				enclosed++ // by quotes of the other kind
			}
		}
	}
	if common < 2 {
		return 0
	}
	score := float64(count[common])/float64(len(rows)) + float64(min(common, 50))/1000
	if enclosed > 0 {
		score /= 2
	}
	return score
}

// describe finds out the types of the columns and whether the first record names them: it
// does if a column holds values of one type below it and something else in it, or else if
// it looks like names and none of them is also a value below.
func (d *dialect) describe(text string) {
	d.hasNames = false
	rows := d.sample(text)
	for len(rows) > 0 && blank(rows[0]) {
		rows = rows[1:]
	}
	if len(rows) == 0 || !areNames(rows[0]) {
		d.types = typesOf(rows)
		return
	}
	d.types, d.hasNames = typesOf(rows[1:]), true
	for i, name := range rows[0] {
		if i < len(d.types) && d.types[i] != textType && d.types[i] != "" && typeOf(name) != d.types[i] {
			return
		}
	}
	for _, row := range rows[1:] {
		for i, cell := range row {
			if i < len(rows[0]) && cell != "" && cell == rows[0][i] {
				d.hasNames = false
				return
			}
		}
	}
}

// columns returns the names of the columns with their types, such as "Berth (text), Fee
// (integer)".
func (d dialect) columns(names []string) string {
	var all []string
	for i, name := range names {
		if i < len(d.types) && d.types[i] != "" {
			name += " (" + string(d.types[i]) + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// records calls each with the line and the cells of every record, until it returns false.
// Errors: errQuote, that of ctx.
func (d dialect) records(ctx context.Context, text string, each func(line int, cells []string) bool) error {
	first := 1 + strings.Count(text[:d.skip], "\n")
	r := csv.NewReader(&swapReader{text: text[d.skip:], quote: d.quote})
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord, r.TrimLeadingSpace = d.delimiter, -1, true, true, true
	before := int64(0)
	for number := 0; ; number++ {
		row, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case number%1024 == 0 && ctx.Err() != nil:
			return ctx.Err()
		}
		line, _ := r.FieldPos(0)
		raw := text[d.skip:][before:r.InputOffset()]
		if d.isOpen(raw) {
			return errQuote
		}
		before = r.InputOffset()
		for i, cell := range row {
			row[i] = swapQuotes(cell, d.quote)
		}
		if !each(first+line-1, row) {
			return nil
		}
	}
}

// isOpen reports whether a record begins with a quote that seems not to be closed.
func (d dialect) isOpen(record string) bool {
	if d.quote == noQuote {
		return false
	}
	lines := strings.Count(strings.Trim(record, "\r\n"), "\n")
	return lines > maxQuotedLines || lines > 0 && strings.Count(record, string(d.quote))%2 == 1
}

// swapReader reads a text for encoding/csv, whose only quote is '"': the file's own quote is
// swapped with it. In a file without quotes, noQuoteSign stands for '"'.
type swapReader struct {
	text  string
	quote byte
}

// noQuoteSign is a control character that no text has.
const noQuoteSign = 0x1f

func (r *swapReader) Read(p []byte) (int, error) {
	if r.text == "" {
		return 0, io.EOF
	}
	n := copy(p, r.text)
	r.text = r.text[n:]
	if r.quote != '"' {
		for i, c := range p[:n] {
			p[i] = swapped(c, r.quote)
		}
	}
	return n, nil
}

func swapped(c, quote byte) byte {
	if quote == noQuote {
		quote = noQuoteSign
	}
	switch c {
	case '"':
		return quote
	case quote:
		return '"'
	}
	return c
}

// swapQuotes undoes what swapReader did.
func swapQuotes(cell string, quote byte) string {
	if quote == '"' || !strings.ContainsAny(cell, "\"'\x1f") {
		return cell
	}
	swap := []byte(cell)
	for i, c := range swap {
		swap[i] = swapped(c, quote)
	}
	return string(swap)
}

// columnType is the type of the values of a column, "" for a column without values.
type columnType string

const (
	textType    columnType = "text"
	integerType columnType = "integer"
	numberType  columnType = "number"
	booleanType columnType = "boolean"
	dateType    columnType = "date"
)

// typesOf returns the types of the columns of records.
func typesOf(rows [][]string) (types []columnType) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(types) {
				types = append(types, "")
			}
			t := typeOf(cell)
			switch {
			case t == "" || t == types[i]:
			case types[i] == "":
				types[i] = t
			case types[i]+t == integerType+numberType, types[i]+t == numberType+integerType:
				types[i] = numberType
			default:
				types[i] = textType
			}
		}
	}
	return types
}

var dateLayouts = []string{time.DateOnly, time.DateTime, time.RFC3339, "2006-01-02T15:04:05", "2006/01/02", "02.01.2006", "02/01/2006", "01/02/2006"}

func typeOf(cell string) columnType {
	cell = strings.TrimSpace(cell)
	switch strings.ToLower(cell) {
	case "":
		return ""
	case "true", "false", "yes", "no":
		return booleanType
	}
	if len(cell) > len("2006-01-02T15:04:05.999999999+00:00") {
		return textType
	}
	if _, err := strconv.ParseInt(cell, 10, 64); err == nil {
		return integerType
	}
	if _, err := strconv.ParseFloat(strings.Replace(strings.TrimSuffix(cell, "%"), ",", ".", 1), 64); err == nil {
		return numberType
	}
	if strings.ContainsAny(cell[:1], "0123456789") {
		for _, layout := range dateLayouts {
			if _, err := time.Parse(layout, cell); err == nil {
				return dateType
			}
		}
	}
	return textType
}
