package jsonsplit

import (
	"slices"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// longestEscape is the length of a surrogate pair in ASCII.
const longestEscape = len(`\ud83d\ude00`)

// splitString splits a string that is too long for one chunk, an entry at a depth,
// into chunks of one segment each.
func (s *splitter) splitString(depth int, e *entry) {
	s.flush(&s.group)
	content := s.text[e.value+1 : e.end-1]
	written := content
	if !s.compact {
		written = string(appendString(nil, content, s.ascii))
	}
	limit := s.max - s.path[depth].size - s.keySize(depth, e) - len(`""`)
	if limit < longestEscape { // the keys leave too little: keep segments of a usable length
		limit = max(s.max, longestEscape)
	} else if s.max > 2*segmentMargin {
		limit = min(limit, s.max-segmentMargin)
	}
	cut := stringCutter{text: written, limit: limit}
	pos := e.value + 1
	for first := true; first || cut.from < len(written) && s.err == nil; first = false {
		part := cut.next()
		end := pos + len(part)
		if !s.compact {
			end = s.sameRunes(pos, part)
		}
		s.scratch = append(append(append(s.scratch[:0], '"'), part...), '"')
		s.add(&s.group, depth, e, s.scratch)
		if len(part) < len(written) {
			s.group.start, s.group.end, s.group.part = pos, end, !first
		}
		s.flush(&s.group)
		pos = end
	}
}

// segmentMargin is how much shorter than maxSize the segments of a string are, as in
// the reference data, unless maxSize is small.
const segmentMargin = 20

// sameRunes returns the end, in the source, of as many code points from pos as written
// has.
func (s *splitter) sameRunes(pos int, written string) int {
	for written != "" {
		_, n := readRune(written)
		written = written[n:]
		_, n = readRune(s.text[pos:])
		pos += n
	}
	return pos
}

// stringCutter cuts the content of a JSON string into segments of at most limit
// units.
type stringCutter struct {
	text  string
	limit int
	from  int // start of the next segment
}

// next returns the next segment. It ends after its last space, or between two
// characters if it has none.
func (c *stringCutter) next() string {
	start, to, size, space := c.from, c.from, 0, 0
	for to < len(c.text) {
		_, n := readRune(c.text[to:])
		if size += textspan.Units(c.text[to : to+n]); size > c.limit && to > start {
			break
		}
		if to += n; c.text[to-1] == ' ' {
			space = to
		}
	}
	switch {
	case to == len(c.text):
	case space > 0:
		to = space
	default:
		to = c.characterEnd(start, to)
	}
	c.from = to
	return c.text[start:to]
}

// characterEnd returns the end of the last whole character in text[start:to], or to if
// no character ends near it.
func (c *stringCutter) characterEnd(start, to int) int {
	var ends []int // of code points and escapes
	for at := start; at < to; {
		_, n := readRune(c.text[at:])
		if at += n; at >= to-textspan.ClusterContext {
			ends = append(ends, at)
		}
	}
	for _, at := range slices.Backward(ends) {
		if textspan.IsClusterBorder(c.text, start, at) {
			return at
		}
	}
	return to
}
