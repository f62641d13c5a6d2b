// Package textspan measures, trims and cuts spans of UTF-8 texts. The splitters
// share it.
package textspan

import "sort"

// Span is a part of a text, in bytes.
type Span struct{ Start, End int }

// After returns the index of the first span that ends after position at, in spans
// that are in order.
func After(spans []Span, at int) int {
	return sort.Search(len(spans), func(i int) bool { return spans[i].End > at })
}

// Contains reports whether one of the spans, which are in order, contains position
// at.
func Contains(spans []Span, at int) bool {
	i := After(spans, at)
	return i < len(spans) && spans[i].Start <= at
}
