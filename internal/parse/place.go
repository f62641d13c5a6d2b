package parse

import "sort"

// Places finds where parts of a document stood. Make it with Document.Places.
type Places map[Kind][]Span // those of a kind in order, none overlapping

// Places returns the places of the document's text.
func (d Document) Places() Places {
	p := Places{}
	for _, s := range d.Spans {
		p[s.Kind] = append(p[s.Kind], s)
	}
	return p
}

// Of returns what is known about the place of Text[start:end], ready for metadata:
// page and slide as numbers, with pageEnd and slideEnd where the part reaches over
// several; sheet and section as the name of the first; file as the name of the one in
// which it begins, if it begins in one. Nil if nothing is known.
func (p Places) Of(start, end int) map[string]any {
	var place map[string]any
	for kind, spans := range p {
		first := sort.Search(len(spans), func(i int) bool { return spans[i].End > start })
		if first == len(spans) || spans[first].Start >= end || kind == Member && spans[first].Start > start {
			continue
		}
		if place == nil {
			place = map[string]any{}
		}
		if spans[first].Number == 0 {
			place[string(kind)] = spans[first].Name
			continue
		}
		place[string(kind)] = spans[first].Number
		last := sort.Search(len(spans), func(i int) bool { return spans[i].Start >= end }) - 1
		if last > first {
			place[string(kind)+"End"] = spans[last].Number
		}
	}
	return place
}
