package grid

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// column converts the cells of a column to values of its type.
type column struct {
	kind Type
	unit string
	note string

	decimal  byte // of numbers: the character before the fraction
	dayFirst bool // of dates such as 03/04/2026
}

// empties are texts that stand for a missing value in a column of numbers or dates, in lower case.
var empties = map[string]bool{"": true, "-": true, "–": true, "—": true, "n/a": true, "na": true, "n.a.": true, "null": true, "none": true, "?": true, "#n/a": true, "nan": true, "--": true}

func isEmpty(text string) bool { return len(text) < 6 && empties[strings.ToLower(text)] }

// typed returns the column of cells: of the first type that all of them have.
func typed(rows []row, at int) column {
	var cells []Cell
	for _, r := range rows {
		if c := r.cells[at]; !isEmpty(c.Text) {
			cells = append(cells, c)
		}
	}
	if len(cells) == 0 {
		return column{kind: Text}
	}
	if c, ok := booleans(cells); ok {
		return c
	}
	if c, ok := numbers(cells); ok {
		return c
	}
	c, _ := dates(cells)
	return c
}

// value returns the value of a cell as text; empty for none.
func (c column) value(cell Cell) string {
	if c.kind != Text && isEmpty(cell.Text) {
		return ""
	}
	switch c.kind {
	case Number:
		value, _, _ := number(cell, c.decimal)
		return value
	case Date:
		value, _ := date(cell, c.dayFirst)
		return value
	case Boolean:
		return strconv.FormatBool(truths[strings.ToLower(cell.Text)])
	}
	return cell.Text
}

// json returns the value of a cell as JSON.
func (c column) json(cell Cell) []byte {
	value := c.value(cell)
	switch {
	case value == "":
		return []byte("null")
	case c.kind == Number || c.kind == Boolean:
		return []byte(value)
	}
	return quote(value)
}

var truths = map[string]bool{"true": true, "yes": true, "false": false, "no": false}

func booleans(cells []Cell) (column, bool) {
	for _, c := range cells {
		if _, ok := truths[strings.ToLower(c.Text)]; !ok {
			return column{}, false
		}
	}
	return column{kind: Boolean}, true
}

// currencies are the codes of signs, and of themselves.
var currencies = map[string]string{
	"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB", "zł": "PLN", "Kč": "CZK",
	"USD": "USD", "EUR": "EUR", "GBP": "GBP", "JPY": "JPY", "CHF": "CHF", "CNY": "CNY", "INR": "INR", "SEK": "SEK", "NOK": "NOK", "DKK": "DKK",
	"AUD": "AUD", "CAD": "CAD", "NZD": "NZD", "BRL": "BRL", "ZAR": "ZAR", "PLN": "PLN", "CZK": "CZK", "KRW": "KRW", "HUF": "HUF", "TRY": "TRY",
}

// shown matches a number with what may stand around it: sign, unit before, digits, unit behind.
var shown = regexp.MustCompile(`^(\(?)([-+−]?)\s*([^\d\s.,()+−-]{0,4})\s*([-+−]?)(\d[\d.,'’ \x{00a0}\x{202f}]*|[.,]\d+)([eE][-+]\d+)?\s*([^\d\s.,()]{0,8}(?:/[^\d\s.,()]{1,6})?)(\)?)$`)

var spaces = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "'", "", "’", "")

// numbers returns a column of numbers if all cells are, in one unit at most.
func numbers(cells []Cell) (column, bool) {
	c := column{kind: Number, decimal: decimalOf(cells)}
	for _, cell := range cells {
		_, unit, ok := number(cell, c.decimal)
		if !ok || unit != "" && c.unit != "" && unit != c.unit {
			return c, false
		}
		if unit != "" {
			c.unit = unit
		}
	}
	return c, true
}

// decimalOf returns the character before the fractions of numbers: a point, unless the numbers show that it is a comma.
func decimalOf(cells []Cell) byte {
	for _, cell := range cells {
		if cell.Raw != "" {
			continue
		}
		m := shown.FindStringSubmatch(cell.Text)
		if m == nil {
			continue
		}
		digits := spaces.Replace(m[5])
		point, comma := strings.LastIndexByte(digits, '.'), strings.LastIndexByte(digits, ',')
		switch {
		case point >= 0 && comma >= 0:
			return digits[max(point, comma)]
		case strings.Count(digits, ".") > 1:
			return ','
		case strings.Count(digits, ",") > 1:
			return '.'
		case comma >= 0 && len(digits)-comma-1 != 3, comma == 1 && digits[0] == '0':
			return ','
		case point >= 0 && len(digits)-point-1 != 3:
			return '.'
		}
	}
	return '.'
}

// number returns the number of a cell in the form of JSON, and its unit.
func number(cell Cell, decimal byte) (value, unit string, ok bool) {
	m := shown.FindStringSubmatch(cell.Text)
	if m == nil || (m[1] == "(") != (m[8] == ")") || m[2] != "" && m[4] != "" || m[3] != "" && m[7] != "" {
		return "", "", false
	}
	unit = m[3] + m[7]
	if code, known := currencies[unit]; known {
		unit = code
	}
	if m[3] != "" && currencies[m[3]] == "" { // as in the name "A1"
		return "", "", false
	}
	if cell.Raw != "" {
		value, ok = stored(cell.Raw, unit == "%")
		return value, unit, ok
	}
	digits := spaces.Replace(m[5])
	thousands := map[byte]string{'.': ",", ',': "."}[decimal]
	whole, fraction, _ := strings.Cut(digits, string(decimal))
	if !grouped(whole, thousands) || strings.ContainsAny(fraction, ".,") {
		return "", "", false
	}
	whole = strings.ReplaceAll(whole, thousands, "")
	if len(whole) > 1 && whole[0] == '0' { // a code
		return "", "", false
	}
	if whole == "" {
		whole = "0"
	}
	value = whole
	if fraction != "" {
		value += "." + fraction
	}
	value += m[6]
	if sign := m[2] + m[4]; m[1] == "(" || sign == "-" || sign == "−" {
		value = "-" + value
	}
	return value, unit, len(value) < 100
}

// grouped reports whether the separators of a whole number stand before every three digits.
func grouped(whole, separator string) bool {
	groups := strings.Split(whole, separator)
	for i, g := range groups {
		if i > 0 && len(g) != 3 || i == 0 && len(groups) > 1 && (g == "" || len(g) > 3) {
			return false
		}
	}
	return true
}

// stored returns a number of a spreadsheet in the form of JSON, with the 15 digits that spreadsheets keep.
func stored(raw string, percent bool) (string, bool) {
	n, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return "", false
	}
	if percent {
		n *= 100
	}
	n, err = strconv.ParseFloat(strconv.FormatFloat(n, 'g', 15, 64), 64)
	if err != nil {
		return "", false
	}
	return strconv.FormatFloat(n, 'f', -1, 64), math.Abs(n) < 1e60
}
