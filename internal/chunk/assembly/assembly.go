// Package assembly puts texts together from parts of a source and keeps track of
// where each part came from.
package assembly

import (
	"math"
	"sort"
	"unsafe"

	"github.com/ragdhq/ragd/internal/chunk/blocks"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/fault"
)

// ParagraphJoin stands between the paragraphs of a section, and between two
// sections that make one chunk.
const ParagraphJoin = "  \n"

// Text is a text put together from parts of a source, in order. As long as the
// parts adjoin, the text is a slice of the source; after that it is a copy.
type Text struct {
	source  string
	track   bool // remember where every part came from, for bounds
	joinLen int  // length of the usual joiner

	start, end int    // bounds of the parts in the source
	buf        []byte // the text, if it is not source[start:end]
	copied     bool
	visible    bool // something but white space was added
	joined     bool // the text ends with a joiner of the usual length
	origins    blocks.List[origin]
}

// New returns an empty text of parts of the source. With track it knows where each
// part came from, which Bounds needs. joinLen is the length of the joiner that is
// used most.
func New(source string, track bool, joinLen int) Text {
	return Text{source: source, track: track, joinLen: joinLen}
}

// origin says which position of the source the text from a position on came from.
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

// CheckLength refuses a source that is too long to keep track of. Errors: Invalid
// about the field text.
func CheckLength(text string) error {
	if len(text) > maxTracked {
		return fault.Field("text", "must be at most %d bytes for this strategy, got %d; upload it in parts", maxTracked, len(text))
	}
	return nil
}

// Reset empties the text.
func (a *Text) Reset() {
	a.buf = a.buf[:0]
	a.origins.Truncate(0)
	a.copied, a.visible, a.joined, a.start, a.end = false, false, false, 0, 0
}

// Len returns the length of the text in bytes.
func (a *Text) Len() int {
	if a.copied {
		return len(a.buf)
	}
	return a.end - a.start
}

// Add appends source[start:end].
func (a *Text) Add(start, end int) {
	a.see(a.source[start:end])
	switch {
	case start == end:
		return
	case a.Len() == 0:
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

// AddDecoded appends text that stands for source[start:end].
func (a *Text) AddDecoded(text string, start, end int) {
	a.see(text)
	if a.Len() == 0 {
		a.start, a.end = start, start
	}
	a.copy()
	a.note(len(a.buf), start, true)
	a.buf = append(a.buf, text...)
	a.end = end
}

// Join appends text that stands for nothing in the source, between two parts.
func (a *Text) Join(text string) {
	if len(text) != a.joinLen {
		a.AddDecoded(text, a.end, a.end)
		return
	}
	a.copy()
	a.buf = append(a.buf, text...)
	a.joined = true
}

func (a *Text) copy() {
	if !a.copied {
		a.buf = append(a.buf[:0], a.source[a.start:a.end]...)
		a.copied = true
	}
}

func (a *Text) lastOpaque() bool {
	return a.origins.Len() > 0 && a.origins.At(a.origins.Len()-1).opaque()
}

// note says that the text from at on comes from src. If it does not follow on
// the opaque part before it, an origin of its own says where that one ends.
func (a *Text) note(at, src int, opaque bool) {
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
		a.origins.Push(origin{uint32(end), uint32(a.end)})
	}
	if opaque {
		o.text |= flag
	}
	if joined {
		o.src |= flag
	}
	a.origins.Push(o)
}

// Take returns the assembled text; after that only Bounds and Reset make sense.
func (a *Text) Take() string {
	if len(a.buf) < 1<<16 || !a.copied {
		return a.Tail(0)
	}
	text := unsafe.String(unsafe.SliceData(a.buf), len(a.buf)) // nothing writes to it any more
	a.buf = nil
	return text
}

// Tail returns the text from a position on.
func (a *Text) Tail(from int) string {
	if a.copied {
		return string(a.buf[from:])
	}
	return a.source[a.start+from : a.end]
}

func (a *Text) see(part string) {
	a.visible = a.visible || !textspan.IsBlank(part)
}

// Visible reports whether the text is more than white space.
func (a *Text) Visible() bool { return a.visible }

// Span returns the part of the source from the start of the first part to the end
// of the last one.
func (a *Text) Span() textspan.Span { return textspan.Span{Start: a.start, End: a.end} }

// Bounds returns the part of the source that text[from:to] was made from, for
// which it needs tracking.
func (a *Text) Bounds(from, to int) (start, end int) {
	after := sort.Search(a.origins.Len(), func(i int) bool { return a.origins.At(i).at() > from })
	first := a.origins.At(after - 1)
	start = first.from()
	if !first.opaque() {
		start += from - first.at()
	}
	if after < a.origins.Len() {
		if next := a.origins.At(after); next.joined() && from >= next.at()-a.joinLen {
			start = next.from()
		}
	}
	after = sort.Search(a.origins.Len(), func(i int) bool { return a.origins.At(i).at() >= to })
	last := a.origins.At(after - 1)
	if after < a.origins.Len() && a.origins.At(after).joined() {
		to = min(to, a.origins.At(after).at()-a.joinLen)
	}
	switch {
	case !last.opaque():
		end = last.from() + to - last.at()
	case after < a.origins.Len():
		end = a.origins.At(after).from()
	default:
		end = a.end
	}
	return start, end
}
