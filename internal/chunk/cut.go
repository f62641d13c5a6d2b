package chunk

import (
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// cutter walks over the characters of a part of the source: its grapheme
// clusters (Unicode annex 29), and the code points of a cluster that alone is
// longer than a chunk may be.
type cutter struct {
	src      *source
	pos, end int
	max      int // units
	base     int // where the iterator started
	clusters *graphemes.Iterator[string]
	within   int // end of the cluster that is being cut at code points
}

func newCutter(src *source, start, end, max int) *cutter {
	c := &cutter{src: src, pos: start, end: end, max: max, base: start}
	if !src.ascii {
		c.clusters = graphemes.FromString(src.text[start:end])
	}
	return c
}

// next returns the end of the next character. It must not be called at the end.
func (c *cutter) next() int {
	if c.clusters == nil {
		c.pos++
		if c.src.text[c.pos-1] == '\r' && c.pos < c.end && c.src.text[c.pos] == '\n' && c.max > 1 {
			c.pos++
		}
		return c.pos
	}
	if c.pos >= c.within {
		c.clusters.Next()
		to := c.base + c.clusters.End()
		if c.src.size(c.pos, to) <= c.max {
			c.pos = to
			return to
		}
		c.within = to
	}
	_, n := utf8.DecodeRuneInString(c.src.text[c.pos:])
	c.pos += n
	return c.pos
}
