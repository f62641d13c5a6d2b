package chunk

import (
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
)

// cutter iterates over the characters of a section of the source.
type cutter interface {
	// next returns the end of the next character. It must not be called at the
	// end of the section.
	next() int
}

// newCutter returns a cutter of text[start:end] into grapheme clusters (Unicode
// annex 29), and into code points where a cluster is longer than max units.
func newCutter(src *source, start, end, max int) cutter {
	if src.ascii {
		return &asciiCutter{text: src.text, pos: start, end: end, max: max}
	}
	return &clusterCutter{src: src, start: start, pos: start, max: max, clusters: graphemes.FromString(src.text[start:end])}
}

// asciiCutter cuts after every byte except between CR and LF.
type asciiCutter struct {
	text          string
	pos, end, max int
}

func (c *asciiCutter) next() int {
	c.pos++
	if c.text[c.pos-1] == '\r' && c.pos < c.end && c.text[c.pos] == '\n' && c.max > 1 {
		c.pos++
	}
	return c.pos
}

type clusterCutter struct {
	src        *source
	start, pos int
	max        int
	clusters   *graphemes.Iterator[string]
	clusterEnd int // of the cluster that is being cut into code points
}

func (c *clusterCutter) next() int {
	if c.pos >= c.clusterEnd {
		c.clusters.Next()
		c.clusterEnd = c.start + c.clusters.End()
		if c.src.size(c.pos, c.clusterEnd) <= c.max {
			c.pos = c.clusterEnd
			return c.pos
		}
	}
	_, n := utf8.DecodeRuneInString(c.src.text[c.pos:])
	c.pos += n
	return c.pos
}

// wordCutter cuts into words, with the white space and the punctuation between them.
type wordCutter struct{ words *sentence.Words }

func (c wordCutter) next() int { return c.words.Next() }

// runeCutter cuts after every code point.
type runeCutter struct {
	text string
	pos  int
}

func (c *runeCutter) next() int {
	_, n := utf8.DecodeRuneInString(c.text[c.pos:])
	c.pos += n
	return c.pos
}
