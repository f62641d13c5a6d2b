package parse

import (
	"bytes"
	"regexp"
	"strings"
)

// spend deducts the unpacked size of all parts from the budget, for a library that unpacks
// them itself. It returns for each sheet what stands around its rows.
func (p *pack) spend() (frames map[string]sheetFrame, err error) {
	frames = map[string]sheetFrame{}
	for name, f := range p.files {
		var around sheetFrame
		if err := p.failure(p.budget.skim(f, &around)); err != nil {
			return nil, err
		}
		if strings.Contains(name, "worksheets/") {
			frames[name] = around
		}
	}
	return frames, nil
}

// sheetFrame keeps the beginning of what is written to it, and what comes after the last end of rows, if that
// is found.
type sheetFrame struct {
	head  []byte
	tail  []byte
	found bool
	// unknown is how many formulas have no result. carry is the end of what was written before.
	unknown int
	carry   []byte
}

// noResults are what a formula ends with that has no result.
var noResults = [][]byte{[]byte("</f></c>"), []byte("</f><v></v>"), []byte("</f><v/>"), []byte("</f><v />")}

// countFormulas counts the formulas without results in what is written.
func (s *sheetFrame) countFormulas(data []byte) {
	const most = 10 // one less than the longest
	s.carry = append(s.carry, data...)
	before := len(s.carry) - len(data)
	for _, end := range noResults {
		s.unknown += bytes.Count(s.carry[max(before-len(end)+1, 0):], end)
	}
	s.carry = append(s.carry[:0], s.carry[max(len(s.carry)-most, 0):]...)
}

// maxSheetHead is how much of a sheet is looked at for its columns, in bytes.
const maxSheetHead = 64 << 10

func (s *sheetFrame) Write(data []byte) (int, error) {
	const end = "sheetData>"
	s.countFormulas(data)
	s.head = append(s.head, data[:min(len(data), maxSheetHead-len(s.head))]...)
	from := max(len(s.tail)-len(end), 0)
	s.tail = append(s.tail, data...)
	if at := bytes.LastIndex(s.tail[from:], []byte(end)); at >= 0 {
		s.tail, s.found = append(s.tail[:0], s.tail[from+at+len(end):]...), true
	}
	if keep := len(end); !s.found && len(s.tail) > keep {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-keep:]...)
	}
	if len(s.tail) > maxSheetTail {
		s.tail, s.found = s.tail[len(s.tail)-len(end):], false
	}
	return len(data), nil
}

var (
	sheetColumn  = regexp.MustCompile(`<(?:\w+:)?col\s[^>]*>`)
	columnNumber = regexp.MustCompile(`\s(min|max|hidden)="(\w+)"`)
)

// hiddenColumns returns the first and the last of the columns, from 1, that the beginning of a sheet says to be hidden.
func hiddenColumns(head []byte) (ranges [][2]int) {
	if at := bytes.Index(head, []byte("sheetData")); at >= 0 {
		head = head[:at]
	}
	for _, column := range sheetColumn.FindAll(head, -1) {
		values := map[string]string{}
		for _, found := range columnNumber.FindAllSubmatch(column, -1) {
			values[string(found[1])] = string(found[2])
		}
		if first := number(values["min"]); first > 0 && (values["hidden"] == "1" || values["hidden"] == "true") {
			ranges = append(ranges, [2]int{first, number(values["max"])})
		}
	}
	return ranges
}
