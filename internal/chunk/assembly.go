package chunk

import (
	"math"
	"sort"

	"github.com/ragdhq/ragd/internal/fault"
)

// assembly is a text put together from parts of the source. As long as the
// parts adjoin, the text is a slice of the source; after that it is a copy.
type assembly struct {
	source string
	track  bool // remember where every part came from, for bounds

	start, end int    // bounds of the parts in the source
	buf        []byte // the text, if it is not source[start:end]
	copied     bool
	visible    bool // something but white space was added
	origins    []origin
}

// origin says that the text from a position on came from a place in the source.
// Plain parts have the same length in both. Others (a decoded entity, a joiner)
// are opaque: all of it came from between the origin and the next one.
type origin struct {
	text uint32 // the highest bit says opaque
	src  uint32
}

const opaque = 1 << 31

func (o origin) at() int { return int(o.text &^ opaque) }

// maxTracked is the longest source that an origin can point into.
const maxTracked = math.MaxInt32

func checkTracked(text string) error {
	if len(text) > maxTracked {
		return fault.Field("text", "must be at most %d bytes for this strategy, got %d; upload it in parts", maxTracked, len(text))
	}
	return nil
}

func (a *assembly) reset() {
	a.buf, a.origins = a.buf[:0], a.origins[:0]
	a.copied, a.visible, a.start, a.end = false, false, 0, 0
}

func (a *assembly) len() int {
	if a.copied {
		return len(a.buf)
	}
	return a.end - a.start
}

// add appends source[start:end].
func (a *assembly) add(start, end int) {
	a.see(a.source[start:end])
	switch {
	case start == end:
		return
	case a.len() == 0:
		a.start, a.end = start, end
		a.note(0, start, 0)
		return
	case start == a.end && !a.copied:
		a.end = end
		return
	}
	a.copy()
	if start != a.end || len(a.origins) > 0 && a.origins[len(a.origins)-1].text&opaque != 0 {
		a.note(len(a.buf), start, 0)
	}
	a.buf = append(a.buf, a.source[start:end]...)
	a.end = end
}

// addDecoded appends text that stands for source[start:end].
func (a *assembly) addDecoded(text string, start, end int) {
	a.see(text)
	if a.len() == 0 {
		a.start, a.end = start, start
	}
	a.copy()
	a.note(len(a.buf), start, opaque)
	a.buf = append(a.buf, text...)
	a.end = end
}

// join appends text that stands for nothing in the source, between two parts.
func (a *assembly) join(text string) { a.addDecoded(text, a.end, a.end) }

func (a *assembly) copy() {
	if !a.copied {
		a.buf = append(a.buf[:0], a.source[a.start:a.end]...)
		a.copied = true
	}
}

// note says that the text from at on comes from src. If it does not follow on
// the opaque part before it, one of its own says where that one ends.
func (a *assembly) note(at, src int, flag uint32) {
	if !a.track {
		return
	}
	if n := len(a.origins); n > 0 && a.origins[n-1].text&opaque != 0 && a.end != src {
		a.origins = append(a.origins, origin{uint32(at), uint32(a.end)})
	}
	a.origins = append(a.origins, origin{uint32(at) | flag, uint32(src)})
}

// text returns the assembled text.
func (a *assembly) text() string {
	return a.tail(0)
}

func (a *assembly) see(part string) {
	a.visible = a.visible || !isBlank(part)
}

func isBlank(s string) bool {
	start, end := trim(s, 0, len(s))
	return start == end
}

// tail returns the text from a position on.
func (a *assembly) tail(from int) string {
	if a.copied {
		return string(a.buf[from:])
	}
	return a.source[a.start+from : a.end]
}

// bounds returns the part of the source that text[from:to] was made from; it
// needs track. The text must not be empty.
func (a *assembly) bounds(from, to int) (start, end int) {
	first := sort.Search(len(a.origins), func(i int) bool { return a.origins[i].at() > from }) - 1
	last := sort.Search(len(a.origins), func(i int) bool { return a.origins[i].at() >= to }) - 1
	start = int(a.origins[first].src)
	if a.origins[first].text&opaque == 0 {
		start += from - a.origins[first].at()
	}
	switch m := a.origins[last]; {
	case m.text&opaque == 0:
		end = int(m.src) + to - m.at()
	case last+1 < len(a.origins):
		end = int(a.origins[last+1].src)
	default:
		end = a.end
	}
	return start, end
}
