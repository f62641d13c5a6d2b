package chunk

import (
	"math"
	"sort"
	"unsafe"

	"github.com/ragdhq/ragd/internal/fault"
)

// assembly is a text put together from parts of the source. As long as the
// parts adjoin, the text is a slice of the source; after that it is a copy.
type assembly struct {
	source  string
	track   bool // remember where every part came from, for bounds
	joinLen int  // length of the usual joiner

	start, end int    // bounds of the parts in the source
	buf        []byte // the text, if it is not source[start:end]
	copied     bool
	visible    bool // something but white space was added
	joined     bool // the text ends with a joiner of the usual length
	origins    blocks[origin]
}

// origin says that the text from a position on came from a place in the source.
// Plain parts have the same length in both. Others (a decoded entity, a joiner
// of another length) are opaque: all of it came from between the origin and the
// next one.
type origin struct {
	text uint32 // the highest bit says opaque
	src  uint32 // the highest bit says that a joiner stands before it
}

const flag = 1 << 31

func (o origin) at() int      { return int(o.text &^ flag) }
func (o origin) from() int    { return int(o.src &^ flag) }
func (o origin) opaque() bool { return o.text&flag != 0 }
func (o origin) joined() bool { return o.src&flag != 0 }

// maxTracked is the longest source that an origin can point into.
const maxTracked = math.MaxInt32

func checkTracked(text string) error {
	if len(text) > maxTracked {
		return fault.Field("text", "must be at most %d bytes for this strategy, got %d; upload it in parts", maxTracked, len(text))
	}
	return nil
}

func (a *assembly) reset() {
	a.buf = a.buf[:0]
	a.origins.truncate(0)
	a.copied, a.visible, a.joined, a.start, a.end = false, false, false, 0, 0
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
		a.note(0, start, false)
		return
	case start == a.end && !a.copied:
		a.end = end
		return
	}
	a.copy()
	if a.joined || start != a.end || a.lastOpaque() {
		a.note(len(a.buf), start, false)
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
	a.note(len(a.buf), start, true)
	a.buf = append(a.buf, text...)
	a.end = end
}

// join appends text that stands for nothing in the source, between two parts.
func (a *assembly) join(text string) {
	if len(text) != a.joinLen {
		a.addDecoded(text, a.end, a.end)
		return
	}
	a.copy()
	a.buf = append(a.buf, text...)
	a.joined = true
}

func (a *assembly) copy() {
	if !a.copied {
		a.buf = append(a.buf[:0], a.source[a.start:a.end]...)
		a.copied = true
	}
}

func (a *assembly) lastOpaque() bool {
	return a.origins.n > 0 && a.origins.at(a.origins.n-1).opaque()
}

// note says that the text from at on comes from src. If it does not follow on
// the opaque part before it, an origin of its own says where that one ends.
func (a *assembly) note(at, src int, opaque bool) {
	joined := a.joined
	a.joined = false
	if !a.track {
		return
	}
	o := origin{uint32(at), uint32(src)}
	if a.lastOpaque() && a.end != src {
		end := at
		if joined {
			end -= a.joinLen
		}
		a.origins.push(origin{uint32(end), uint32(a.end)})
	}
	if opaque {
		o.text |= flag
	}
	if joined {
		o.src |= flag
	}
	a.origins.push(o)
}

// take returns the assembled text; after that only bounds and reset make sense.
func (a *assembly) take() string {
	if len(a.buf) < 1<<16 || !a.copied {
		return a.tail(0)
	}
	text := unsafe.String(unsafe.SliceData(a.buf), len(a.buf)) // nothing writes to it any more
	a.buf = nil
	return text
}

// tail returns the text from a position on.
func (a *assembly) tail(from int) string {
	if a.copied {
		return string(a.buf[from:])
	}
	return a.source[a.start+from : a.end]
}

func (a *assembly) see(part string) {
	a.visible = a.visible || !isBlank(part)
}

func isBlank(s string) bool {
	start, end := trim(s, 0, len(s))
	return start == end
}

// bounds returns the part of the source that text[from:to] was made from, for
// which it needs track.
func (a *assembly) bounds(from, to int) (start, end int) {
	after := sort.Search(a.origins.n, func(i int) bool { return a.origins.at(i).at() > from })
	first := a.origins.at(after - 1)
	start = first.from()
	if !first.opaque() {
		start += from - first.at()
	}
	if after < a.origins.n {
		if next := a.origins.at(after); next.joined() && from >= next.at()-a.joinLen {
			start = next.from()
		}
	}
	after = sort.Search(a.origins.n, func(i int) bool { return a.origins.at(i).at() >= to })
	last := a.origins.at(after - 1)
	if after < a.origins.n && a.origins.at(after).joined() {
		to = min(to, a.origins.at(after).at()-a.joinLen)
	}
	switch {
	case !last.opaque():
		end = last.from() + to - last.at()
	case after < a.origins.n:
		end = a.origins.at(after).from()
	default:
		end = a.end
	}
	return start, end
}
