package pdftext

import (
	"math"
	"slices"
	"unicode/utf8"
)

// Lines of two to maxTextColumns cells are columns of text, written across all, if there are at least
// minColumnLines of them and their cells have at least minColumnText characters on average. Three and more are
// narrower, and their cells fill them, as those of a table do not.
const (
	maxTextColumns  = 4
	minColumnLines  = 3
	minColumnText   = 25
	minNarrowText   = 16
	minNarrowFilled = 0.8
)

// inColumns returns lines with those that run across columns of text taken apart: the columns
// follow each other.
func inColumns(lines []line) []line {
	var out []line
	for i := 0; i < len(lines); {
		n, columns := columnLines(lines[i:])
		if n == 0 {
			out = append(out, lines[i])
			i++
			continue
		}
		for number := range columns {
			for _, l := range lines[i : i+n] {
				if k := slices.Index(l.columns(columns), number); k >= 0 {
					out = append(out, l.side(k))
				}
			}
		}
		i += n
	}
	return out
}

// columnLines returns the columns which the lines begin with, in the order in which they are read, and the number
// of their lines, 0 if they do not begin with columns. The last lines may be in some columns alone.
func columnLines(lines []line) (n int, columns []column) {
	whole := 0 // lines
	var letters []int
	var width float64 // of all cells
	for ; n < len(lines) && lines[n].turned == 0 && lines[n].ruling == nil; n++ {
		l := lines[n]
		if n > 0 && (l.across >= lines[n-1].across || lines[n-1].across-l.across > 2.5*l.size) {
			break
		}
		if n == 0 {
			columns, letters = make([]column, len(l.cells)), make([]int, len(l.cells))
			for k, c := range l.cells {
				columns[k] = column{c.from, c.to}
			}
		}
		if len(columns) < 2 || len(columns) > maxTextColumns {
			return 0, nil
		}
		if len(l.cells) != len(columns) {
			if whole < minColumnLines || l.columns(columns) == nil || len(columns) == 2 && l.cells != nil {
				break
			}
			continue
		}
		wider := slices.Clone(columns)
		for k, c := range l.cells {
			wider[k] = column{min(columns[k].from, c.from), max(columns[k].to, c.to)}
		}
		if overlap(wider) {
			break
		}
		columns = wider
		for k, c := range l.cells {
			letters[k] += utf8.RuneCountInString(c.text)
			width += c.to - c.from
		}
		whole++
	}
	least := minColumnText
	if len(columns) > 2 {
		least = minNarrowText
		filled := 0.0
		for _, c := range columns {
			filled += (c.to - c.from) * float64(whole)
		}
		if width < minNarrowFilled*filled {
			return 0, nil
		}
	}
	if whole < minColumnLines || slices.Min(letters) < whole*least {
		return 0, nil
	}
	return n, columns
}

func overlap(columns []column) bool {
	sorted := slices.Clone(columns)
	slices.SortFunc(sorted, func(a, b column) int { return int(math.Copysign(1, a.from-b.from)) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].from <= sorted[i-1].to {
			return true
		}
	}
	return false
}

// columns returns the column of each cell of a line, or that of a line without cells; nil if one is in none.
func (l line) columns(all []column) (found []int) {
	cells := l.cells
	if cells == nil {
		cells = []cell{{from: l.along, to: l.end}}
	}
	for _, c := range cells {
		k := slices.IndexFunc(all, func(in column) bool {
			limit := math.Inf(1) // where the column to its right begins
			for _, other := range all {
				if other.from > in.from {
					limit = min(limit, other.from)
				}
			}
			return c.from >= in.from-l.size && c.from < in.to && c.to <= limit
		})
		if k < 0 || slices.Contains(found, k) {
			return nil
		}
		found = append(found, k)
	}
	return found
}

// side returns one cell of a line as a line of its own, or the line itself if it has none.
func (l line) side(number int) line {
	if l.cells == nil {
		return l
	}
	c := l.cells[number]
	from := 0
	for _, before := range l.cells[:number] {
		from += len(before.text) + len(" ")
	}
	to := from + len(c.text)
	out := l
	out.cells, out.text, out.along, out.end = nil, c.text, c.from, c.to
	out.links, out.refs, out.notes = nil, nil, nil
	for _, a := range l.links {
		if a.from >= from && a.to <= to && !a.goesOn && !a.went {
			a.from, a.to = a.from-from, a.to-from
			out.links = append(out.links, a)
		}
	}
	for _, r := range l.refs {
		if r.from >= from && r.to <= to {
			r.from, r.to = r.from-from, r.to-from
			out.refs = append(out.refs, r)
		}
	}
	if number == 0 {
		out.notes = l.notes
	}
	return out
}
