package parse

import "sort"

// SpanIndex finds the spans of a document that overlap a part of its text. Make it with
// Document.SpanIndex.
type SpanIndex map[Kind][]Span // by kind, ascending and not overlapping

// SpanIndex indexes the spans of the document.
func (d Document) SpanIndex() SpanIndex {
	x := SpanIndex{}
	for _, s := range d.Spans {
		x[s.Kind] = append(x[s.Kind], s)
	}
	return x
}

// Metadata returns the spans that overlap Text[start:end] as metadata: page and slide as
// numbers, with pageEnd and slideEnd if there are several; sheet and section as the name
// of the first; file as the name of the member in which start is. It returns nil if no
// span overlaps.
func (x SpanIndex) Metadata(start, end int) map[string]any {
	var metadata map[string]any
	for kind, spans := range x {
		first := sort.Search(len(spans), func(i int) bool { return spans[i].End > start })
		if first == len(spans) || spans[first].Start >= end || kind == Member && spans[first].Start > start {
			continue
		}
		if metadata == nil {
			metadata = map[string]any{}
		}
		if spans[first].Number == 0 {
			metadata[string(kind)] = spans[first].Name
			continue
		}
		metadata[string(kind)] = spans[first].Number
		last := sort.Search(len(spans), func(i int) bool { return spans[i].Start >= end }) - 1
		if last > first {
			metadata[string(kind)+"End"] = spans[last].Number
		}
	}
	return metadata
}
