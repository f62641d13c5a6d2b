package chunk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/chunk/outline"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// HeadingsKey is the metadata key of the titles of the headings that enclose the start
// of a chunk.
const HeadingsKey = "headings"

// Locate adds to the metadata of every chunk its startLine and endLine in the
// source, counted from 1. For the Markdown strategies it also adds headings, the
// titles of the headings that enclose the start of the chunk, outermost first, if
// there are any. text and opts are those of the split that made the chunks, which
// may be in any order.
func Locate(text string, opts Options, chunks []Chunk) {
	l := locator{text: text, line: 1}
	for i := range chunks {
		l.pending = append(l.pending, &chunks[i])
	}
	slices.SortStableFunc(l.pending, func(a, b *Chunk) int { return cmp.Compare(a.StartByte, b.StartByte) })
	if opts.Strategy == Markdown || opts.Strategy == SemanticMarkdown {
		markdown.EachHeading(text, func(start, _, depth int, title string) bool {
			l.locateBefore(start)
			l.path = append(l.path.Under(depth), outline.Heading{Level: depth, Title: title})
			return len(l.pending) > 0
		})
	}
	l.locateBefore(len(text) + 1)
}

// Shift makes the positions of the chunks of a text those in a longer text, which begins
// with prefix.
func Shift(chunks []Chunk, prefix string) {
	if prefix == "" {
		return
	}
	lines, units := strings.Count(prefix, "\n"), textspan.Units(prefix)
	for i := range chunks {
		c := &chunks[i]
		c.StartByte += len(prefix)
		c.EndByte += len(prefix)
		for key, by := range map[string]int{"startLine": lines, "endLine": lines, startIndexKey: units} {
			if at, ok := c.Metadata[key].(int); ok {
				c.Metadata[key] = at + by
			}
		}
	}
}

// locator reads a text once, in order, and locates chunks on the way.
type locator struct {
	text     string
	pending  []*Chunk // in order of their start
	at, line int
	path     outline.Path
}

// locateBefore locates the chunks that start before end.
func (l *locator) locateBefore(end int) {
	for len(l.pending) > 0 && l.pending[0].StartByte < end {
		c := l.pending[0]
		l.pending = l.pending[1:]
		l.line += strings.Count(l.text[l.at:c.StartByte], "\n")
		l.at = c.StartByte
		if c.Metadata == nil {
			c.Metadata = map[string]any{}
		}
		c.Metadata["startLine"] = l.line
		c.Metadata["endLine"] = l.line + strings.Count(l.text[l.at:max(l.at, c.EndByte-1)], "\n")
		if len(l.path) == 0 {
			continue
		}
		titles := make([]any, len(l.path))
		for i, h := range l.path {
			titles[i] = h.Title
		}
		c.Metadata[HeadingsKey] = titles
	}
}
