package parse

import (
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// heading is the heading of a section.
type heading struct {
	start, level int
	text         string
}

// headings yields the headings of a Markdown text that have a title.
func headings(text string) func(yield func(heading) bool) {
	return func(yield func(heading) bool) {
		for _, h := range markdown.Headings(text, nil) {
			if !yield(heading{h.Start, h.Level, h.Title}) {
				return
			}
		}
	}
}

// Limits of the sections that are kept.
const (
	maxSections    = 50_000
	maxSectionPath = 512 // bytes
)

// sections returns the sections of a Markdown text.
func sections(text string) []Span { return nest(headings(text), len(text)) }

// shifted moves the spans by n bytes.
func shifted(spans []Span, n int) []Span {
	for i := range spans {
		spans[i].Start += n
		spans[i].End += n
	}
	return spans
}

// nest returns a span for each heading, up to the next one. Its name is the path of
// headings to it.
func nest(all func(yield func(heading) bool), end int) []Span {
	var spans []Span
	var above []heading
	for h := range all {
		if n := len(spans); n > 0 {
			spans[n-1].End = h.start
		}
		if len(spans) == maxSections {
			return spans
		}
		for len(above) > 0 && above[len(above)-1].level >= h.level {
			above = above[:len(above)-1]
		}
		above = append(above, h)
		var names []string
		for _, a := range above {
			if n := len(names); n == 0 || names[n-1] != a.text { // what a page says twice stands once
				names = append(names, a.text)
			}
		}
		spans = append(spans, Span{Kind: Section, Start: h.start, Name: textlimit.OneLine(strings.Join(names, SectionSeparator), maxSectionPath)})
	}
	if n := len(spans); n > 0 {
		spans[n-1].End = end
	}
	return spans
}
