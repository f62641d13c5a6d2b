package parse

import (
	"sort"
	"strconv"
	"strings"
)

// SpanIndex finds the spans of a document that overlap a part of its text. Make it with
// Document.SpanIndex. It is fastest for parts in ascending order. It is not safe for
// concurrent use.
type SpanIndex struct {
	text  string
	spans map[Kind][]Span // ascending and not overlapping
	// line feeds are counted from the last position, which is usually near
	counted, feeds int
}

// SpanIndex indexes the spans of the document.
func (d Document) SpanIndex() *SpanIndex {
	x := &SpanIndex{text: d.Text, spans: map[Kind][]Span{}}
	for _, s := range d.Spans {
		x.spans[s.Kind] = append(x.spans[s.Kind], s)
	}
	return x
}

// Metadata returns the spans that overlap Text[start:end] as metadata:
//   - page, slide, line, cell as numbers, with pageEnd, slideEnd, lineEnd, cellEnd if there
//     are several;
//   - pageLabel, the label of the first page, if that is not its number;
//   - time and timeEnd as seconds;
//   - sheet and section as the name of the first, and range, the cells of that sheet;
//   - file as the name of the member in which start is;
//   - contents as true for a part of a table of contents.
//
// It returns nil if no span overlaps.
func (x *SpanIndex) Metadata(start, end int) map[string]any {
	metadata := map[string]any{}
	for kind := range x.spans {
		found := x.overlapping(kind, start, end)
		if len(found) == 0 || kind == Member && found[0].Start > start {
			continue
		}
		first, last := found[0], found[len(found)-1]
		switch kind {
		case Sheet, Section, Member:
			metadata[string(kind)] = first.Name
		case Contents:
			if first.Start <= start && end <= first.End {
				metadata[string(kind)] = true
			}
		case Row:
			if cells := x.cells(start, end); cells != "" {
				metadata["range"] = cells
			}
		case Time:
			metadata[string(kind)] = float64(first.Number) / 1000
			metadata[string(kind)+"End"] = float64(max(last.Number, last.Last)) / 1000
		default:
			from, to := x.number(first, start), x.last(last, end)
			metadata[string(kind)] = from
			if to > from {
				metadata[string(kind)+"End"] = to
			}
			if first.Name != "" {
				metadata[string(kind)+"Label"] = first.Name
			}
		}
	}
	if len(metadata) == 0 {
		return nil
	}
	return metadata
}

// overlapping returns the spans of a kind that overlap Text[start:end].
func (x *SpanIndex) overlapping(kind Kind, start, end int) []Span {
	spans := x.spans[kind]
	first := sort.Search(len(spans), func(i int) bool { return spans[i].End > start })
	spans = spans[first:]
	return spans[:sort.Search(len(spans), func(i int) bool { return spans[i].Start >= end })]
}

// number returns the number of the first row, line or cell of a span at or after a position.
func (x *SpanIndex) number(s Span, at int) int {
	if !s.Lines || at <= s.Start {
		return s.Number
	}
	return s.Number + x.feedsBefore(at) - x.feedsBefore(s.Start)
}

// last returns the number of the last row, line or cell of a span before a position.
func (x *SpanIndex) last(s Span, end int) int {
	if !s.Lines {
		return max(s.Number, s.Last)
	}
	return x.number(s, min(s.End, end)-1)
}

// feedsBefore returns the number of line feeds before a position.
func (x *SpanIndex) feedsBefore(at int) int {
	if at >= x.counted {
		x.feeds += strings.Count(x.text[x.counted:at], "\n")
	} else {
		x.feeds -= strings.Count(x.text[at:x.counted], "\n")
	}
	x.counted = at
	return x.feeds
}

// cells returns the range of cells, such as A2:F20, of the rows of the first sheet that
// overlap Text[start:end], "" if there are none.
func (x *SpanIndex) cells(start, end int) string {
	if sheets := x.overlapping(Sheet, start, end); len(sheets) > 0 {
		end = min(end, sheets[0].End)
	}
	rows := x.overlapping(Row, start, end)
	if len(rows) == 0 {
		return ""
	}
	columns := rows[0].Columns
	for _, row := range rows {
		if row.Columns[0] > 0 {
			columns = [2]int{min(columns[0], row.Columns[0]), max(columns[1], row.Columns[1])}
		}
	}
	from := cellName(columns[0], x.number(rows[0], start))
	if to := cellName(columns[1], x.last(rows[len(rows)-1], end)); to != from {
		return from + ":" + to
	}
	return from
}

// cellName returns the name of a cell, such as AB7, or that of the row alone without a column.
func cellName(column, row int) string {
	const letters = 26
	var name []byte
	for ; column > 0; column = (column - 1) / letters {
		name = append([]byte{byte('A' + (column-1)%letters)}, name...)
	}
	return string(name) + strconv.Itoa(row)
}
