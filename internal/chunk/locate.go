package chunk

import (
	"cmp"
	"slices"
	"strings"
)

// Locate says in the metadata of every chunk where in the source it stands:
// startLine and endLine, counted from 1, and for the Markdown strategies
// headings, a list of the titles of the headings around its start from the
// outermost in, if there are any. text and opts are those of the split that
// made the chunks.
func Locate(text string, opts Options, chunks []Chunk) {
	l := locator{text: text, line: 1}
	for i := range chunks {
		l.pending = append(l.pending, &chunks[i])
	}
	slices.SortStableFunc(l.pending, func(a, b *Chunk) int { return cmp.Compare(a.StartByte, b.StartByte) })
	if opts.Strategy == Markdown || opts.Strategy == SemanticMarkdown {
		eachHeading(text, func(start, _, depth int, title string) bool {
			l.locateBefore(start)
			l.enter(depth, title)
			return len(l.pending) > 0
		})
	}
	l.locateBefore(len(text) + 1)
}

// locator walks through a text.
type locator struct {
	text     string
	pending  []*Chunk // in order of their start
	at, line int
	path     []enclosing
}

// enclosing is a heading that the place stands under.
type enclosing struct {
	depth int
	title string
}

// enter goes under a heading, out of those that are not above it.
func (l *locator) enter(depth int, title string) {
	for len(l.path) > 0 && l.path[len(l.path)-1].depth >= depth {
		l.path = l.path[:len(l.path)-1]
	}
	l.path = append(l.path, enclosing{depth, title})
}

// locateBefore describes the chunks that start before end.
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
			titles[i] = h.title
		}
		c.Metadata["headings"] = titles
	}
}
