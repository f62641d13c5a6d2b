package pdftext

import "unicode/utf8"

// Lines of two cells are two columns of text, written across both, if there are at least
// minColumnLines of them and their cells have at least minColumnText characters on average.
const (
	minColumnLines = 3
	minColumnText  = 25
)

// inColumns returns lines with those that run across two columns of text taken apart: what is in the
// left column comes first.
func inColumns(lines []line) []line {
	var out []line
	for i := 0; i < len(lines); {
		n := columnLines(lines[i:])
		if n == 0 {
			out = append(out, lines[i])
			i++
			continue
		}
		for side := range 2 {
			for _, l := range lines[i : i+n] {
				if len(l.cells) == 2 || side == 0 {
					out = append(out, l.side(side))
				}
			}
		}
		i += n
	}
	return out
}

// columnLines returns the number of lines that the columns have which the lines begin with, 0 if they
// do not begin with columns. The last lines may be in the left column alone.
func columnLines(lines []line) int {
	both, n := 0, 0
	var letters [2]int
	var left, right column
	for ; n < len(lines) && lines[n].turned == 0; n++ {
		l := lines[n]
		if n > 0 && (l.across >= lines[n-1].across || lines[n-1].across-l.across > 2.5*l.size) {
			break
		}
		if len(l.cells) != 2 {
			if both < minColumnLines || l.cells != nil || l.along < left.from-l.size || l.end > right.from {
				break
			}
			continue
		}
		a, b := l.cells[0], l.cells[1]
		if both > 0 && (a.to >= right.from || b.from <= left.to) {
			break
		}
		if both == 0 {
			left, right = column{a.from, a.to}, column{b.from, b.to}
		}
		left = column{min(left.from, a.from), max(left.to, a.to)}
		right = column{min(right.from, b.from), max(right.to, b.to)}
		letters[0] += utf8.RuneCountInString(a.text)
		letters[1] += utf8.RuneCountInString(b.text)
		both++
	}
	if both < minColumnLines || min(letters[0], letters[1]) < both*minColumnText {
		return 0
	}
	return n
}

// side returns one cell of a line as a line of its own, or the line itself if it has none.
func (l line) side(number int) line {
	if len(l.cells) != 2 {
		return l
	}
	c := l.cells[number]
	from, to := 0, len(l.cells[0].text)
	if number == 1 {
		from, to = len(l.text)-len(c.text), len(l.text)
	}
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
