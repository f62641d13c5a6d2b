// Package assembly builds texts from spans of a source and tracks the origin of each
// span.
package assembly

import (
	"math"
	"sort"
	"unsafe"

	"github.com/ragdhq/ragd/internal/chunk/blocks"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// ParagraphJoin separates the paragraphs of a section, and two sections that are
// joined to one chunk.
const ParagraphJoin = "  \n"

// Text is a text built from spans of a source, in order. It is a slice of the source
// as long as the spans are adjacent, and a copy after that.
type Text struct {
	source  string
	track   bool // record the origin of every span, for Bounds
	joinLen int  // length of the usual joiner

	start, end int    // bounds of all spans in the source
	buf        []byte // the text, if it is not source[start:end]
	copied     bool
	visible    bool // has characters other than white space
	joined     bool // the text ends with a joiner of the usual length
	origins    blocks.List[origin]
}

// New returns an empty text over the source. Bounds requires track. joinLen is the
// length of the most frequent joiner, in bytes.
func New(source string, track bool, joinLen int) Text {
	return Text{source: source, track: track, joinLen: joinLen}
}

// origin maps a position of the text to a position of the source, up to the next
// origin. Plain text has the same length in both. Other text (a decoded entity, a
// joiner of another length) is opaque: all of it came from between this origin and
// the next one.
type origin struct {
	text uint32 // position in the text; the highest bit is set if opaque
	src  uint32 // position in the source; the highest bit is set after a joiner
}

const flag = 1 << 31

func (o origin) at() int      { return int(o.text &^ flag) }
func (o origin) from() int    { return int(o.src &^ flag) }
func (o origin) opaque() bool { return o.text&flag != 0 }
func (o origin) joined() bool { return o.src&flag != 0 }

// maxTracked is the longest source that an origin can point into.
const maxTracked = math.MaxInt32

// CheckLength returns an error if the source is too long to track. Errors are
// Invalid about the field text.
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

// Join appends a joiner, text that is not in the source, between two spans.
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

// note records that the text from at on came from src. If opaque text came before
// and ended elsewhere in the source, note first records that end.
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

// Take returns the text. After that, only Bounds and Reset may be called.
func (a *Text) Take() string {
	if len(a.buf) < 1<<16 || !a.copied {
		return a.Tail(0)
	}
	text := unsafe.String(unsafe.SliceData(a.buf), len(a.buf)) // buf is not written to again
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

// Span returns the source from the start of the first span to the end of the last
// one.
func (a *Text) Span() textspan.Span { return textspan.Span{Start: a.start, End: a.end} }

// Bounds returns the bounds in the source that text[from:to] was made from. The text
// must have been created with track.
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
