// Package textspan measures and trims spans of UTF-8 texts.
package textspan

import "sort"

// Span is a range of byte positions of a text, Start included and End excluded.
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
