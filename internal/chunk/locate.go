package chunk

import (
	"cmp"
	"slices"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/chunk/outline"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// HeadingsKey is the metadata key of the titles of the headings that enclose the start
// of a chunk.
const HeadingsKey = "headings"

// Locate adds to the metadata of the chunks of a Markdown strategy headings, the titles of
// the headings that enclose the start of the chunk, outermost first, if there are any. text
// and opts are those of the split that made the chunks, which may be in any order.
func Locate(text string, opts Options, chunks []Chunk) {
	if opts.Strategy != Markdown && opts.Strategy != SemanticMarkdown {
		return
	}
	var l locator
	for i := range chunks {
		l.pending = append(l.pending, &chunks[i])
	}
	slices.SortStableFunc(l.pending, func(a, b *Chunk) int { return cmp.Compare(a.StartByte, b.StartByte) })
	for _, h := range markdown.Headings(text, nil) {
		l.locateBefore(h.Start)
		l.path = append(l.path.Under(h.Level), outline.Heading{Level: h.Level, Title: h.Title})
	}
	l.locateBefore(len(text) + 1)
}

// Shift makes the positions of the chunks of a text those in a longer text, which begins
// with prefix.
func Shift(chunks []Chunk, prefix string) {
	if prefix == "" {
		return
	}
	units := textspan.Units(prefix)
	for i := range chunks {
		c := &chunks[i]
		c.StartByte += len(prefix)
		c.EndByte += len(prefix)
		if at, ok := c.Metadata[startIndexKey].(int); ok {
			c.Metadata[startIndexKey] = at + units
		}
	}
}

// locator reads a text once, in order, and locates chunks on the way.
type locator struct {
	pending []*Chunk // in order of their start
	path    outline.Path
}

// locateBefore locates the chunks that start before end.
func (l *locator) locateBefore(end int) {
	for len(l.pending) > 0 && l.pending[0].StartByte < end {
		c := l.pending[0]
		l.pending = l.pending[1:]
		if len(l.path) == 0 {
			continue
		}
		if c.Metadata == nil {
			c.Metadata = map[string]any{}
		}
		var titles []any
		for _, h := range l.path {
			if n := len(titles); n == 0 || titles[n-1] != h.Title { // what a text says twice stands once
				titles = append(titles, h.Title)
			}
		}
		c.Metadata[HeadingsKey] = titles
	}
}
