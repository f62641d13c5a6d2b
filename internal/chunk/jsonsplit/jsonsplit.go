// Package jsonsplit cuts JSON texts into JSON texts of a limited size.
package jsonsplit

import (
	"unsafe"

	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// Options say how to cut. Sizes are in UTF-16 code units.
type Options struct {
	MaxSize      int
	MinSize      int  // shorter chunks are joined where they fit
	EnsureASCII  bool // values are written in ASCII
	ConvertLists bool // arrays are written as objects with indexes for keys
}

// Split cuts a JSON text into chunks, JSON texts of at most o.MaxSize, and calls emit
// with each of them and its bounds in the source. Every value of the source is in
// exactly one chunk, below the keys that lead to it from the root:
// {"a":{"b":[...]}}.
//
// Chunks have no space between tokens. Numbers are as in the source; strings
// have the same value but are written in one way, with o.EnsureASCII as \uxxxx
// where they are not ASCII (keys are not changed). Object members are in the order of
// the source, except that array indexes (keys such as "7") come first, as in
// JavaScript. With o.ConvertLists arrays are written as objects with indexes for keys;
// at the root they always are.
//
// Each array or object directly below the root that fits is a chunk. The scalars
// below the root are collected in chunks, each of which is emitted when it is full.
// An object that does not fit fills several chunks; an array in it has chunks of its
// own. An array that does not fit becomes groups of items; an item too long for a
// chunk is alone below its index. A string that is too long is cut after a space if
// it has one, never within a character or escape; its segments concatenate to its
// value. Neighbouring chunks are joined if one is smaller than o.MinSize and both fit
// into one.
//
// A chunk is longer than o.MaxSize only if its keys leave less than 12 units for the
// value, or if its only value is a number or an empty container. A scalar root is one
// chunk; an empty container as root has none.
//
// The bounds of a chunk reach from the first to the last of its values in the source,
// with the key of the first value but without the keys above it. Between the scalars
// of a chunk there may be values of other chunks. The bounds of a segment of a string
// are those of the segment.
//
// Of JSON Lines, of which every line that is not blank is a JSON text, each line is split on its own.
//
// Arrays and objects may be nested 10,000 deep. Because keys repeat in every chunk,
// a split whose chunks would be more than 4 times as long as a long text is an error.
//
// Errors are Invalid about text or maxSize, or the first error of emit.
func Split(text string, o Options, emit func(text string, start, end int) error) error {
	if isLines(text) {
		return splitLines(text, o, emit)
	}
	if err := assembly.CheckLength(text); err != nil {
		return err
	}
	budget := maxKeyRepeat*len(text) + keyRepeatSlack
	return splitOne(text, o, &budget, emit)
}

// splitOne splits one JSON text and takes the length of its chunks from the budget.
func splitOne(text string, o Options, budget *int, emit func(text string, start, end int) error) error {
	x, err := newDocument(text, o.EnsureASCII, o.ConvertLists)
	if err != nil {
		return err
	}
	s := &splitter{document: x, max: o.MaxSize, min: o.MinSize, out: emit, budget: *budget}
	s.splitRoot()
	s.emit()
	*budget = s.budget
	return s.err
}

// splitter is the state of a split. It fills groups, the members of one container
// that make a chunk, and keeps the last chunk until it is known whether the next one
// is joined to it.
type splitter struct {
	*document
	max, min int
	out      func(text string, start, end int) error
	err      error // the first
	budget   int   // remaining size of all chunks, in bytes

	path    []node // containers that are being split, outermost first
	prefix  []byte // opening brackets and keys of path
	group   group
	scratch []byte
	last    openChunk
}

// node is a container that is being split.
type node struct {
	at     int  // position of the container
	array  bool // its members are written without keys
	prefix int  // length of splitter.prefix down to here
	size   int  // of the prefix and its closing brackets, in units
}

func (s *splitter) splitRoot() {
	if !s.isContainer(s.root) {
		s.path = append(s.path, node{array: true}) // without brackets
		s.put(&s.group, 0, entry{key: -1, value: s.root, end: s.valueEnd(s.root)})
		s.flush(&s.group)
		return
	}
	s.prefix = append(s.prefix, '{')
	s.path = append(s.path, node{at: s.root, prefix: 1, size: len("{}")})
	var scalars group
	it := s.entries(s.root)
	for e, ok := it.next(); ok && s.err == nil; e, ok = it.next() {
		if s.isContainer(e.value) {
			s.put(&s.group, 0, e)
			s.flush(&s.group)
		} else {
			s.put(&scalars, 0, e)
		}
	}
	s.flush(&scalars)
}

func (s *splitter) isContainer(value int) bool {
	return s.text[value] == '{' || s.text[value] == '['
}

// isArray reports whether a value is written as an array.
func (s *splitter) isArray(value int) bool { return s.text[value] == '[' && !s.lists }

// splitObject splits the members of the container at a depth into chunks.
func (s *splitter) splitObject(depth int) {
	it := s.entries(s.path[depth].at)
	for e, ok := it.next(); ok && s.err == nil; e, ok = it.next() {
		if s.isArray(e.value) {
			s.flush(&s.group)
		}
		flushed := s.put(&s.group, depth, e)
		if s.isArray(e.value) || s.isContainer(e.value) && flushed {
			s.flush(&s.group)
		}
	}
	s.flush(&s.group)
}

// splitArray splits the items of an array, which is an entry at a depth, into chunks.
func (s *splitter) splitArray(depth int, array entry) {
	items := s.enter(depth, &array, true)
	it := s.entries(array.value)
	for e, ok := it.next(); ok && s.err == nil; e, ok = it.next() {
		if size := s.weigh(items, &e); size <= s.max {
			s.fill(&s.group, items, &e, size)
			continue
		}
		s.flush(&s.group)
		s.tooLong(s.enter(depth, &array, false), e)
		s.enter(depth, &array, true)
	}
	s.flush(&s.group)
}

// tooLong splits an entry at a depth that is too long for one chunk.
func (s *splitter) tooLong(depth int, e entry) {
	switch c := s.text[e.value]; {
	case c == '"':
		s.splitString(depth, &e)
	case !s.isContainer(e.value) || s.empty(e.value):
		s.add(&s.group, depth, &e, s.value(e.value, e.end))
		s.flush(&s.group)
	case s.isArray(e.value):
		s.splitArray(depth, e)
	default:
		s.splitObject(s.enter(depth, &e, false))
	}
}

// enter appends a container, which is an entry at a depth, to the path and returns the
// depth of its members.
func (s *splitter) enter(depth int, e *entry, array bool) int {
	parent := s.path[depth]
	s.prefix = s.appendKey(s.prefix[:parent.prefix], e)
	if array {
		s.prefix = append(s.prefix, '[')
	} else {
		s.prefix = append(s.prefix, '{')
	}
	s.path = append(s.path[:depth+1], node{
		at: e.value, array: array, prefix: len(s.prefix),
		size: parent.size + unitsOf(s.prefix[parent.prefix:]) + len("}"),
	})
	return depth + 1
}

// put adds an entry at a depth to the group, or splits it if it does not fit into a
// chunk. It reports whether it flushed a full group to add the entry.
func (s *splitter) put(g *group, depth int, e entry) (flushed bool) {
	if size := s.weigh(depth, &e); size <= s.max {
		return s.fill(g, depth, &e, size)
	}
	if g == &s.group {
		s.flush(g)
	}
	s.tooLong(depth, e)
	return false
}

// weigh returns the size of a chunk that has only the entry at the depth. It leaves the
// written value in scratch. If the size exceeds max, it may be a lower bound, and
// scratch is undefined.
func (s *splitter) weigh(depth int, e *entry) int {
	size := s.path[depth].size + s.keySize(depth, e)
	if least := s.least(e); size+least > s.max {
		return size + least
	}
	return size + unitsOf(s.value(e.value, e.end))
}

// least returns a lower bound of the size of a value, without reading the value.
func (s *splitter) least(e *entry) int {
	if s.text[e.value] == '"' {
		return (e.end - e.value) / 6 // \uxxxx may become one unit
	}
	if s.isContainer(e.value) && e.end-e.value > smallContainer {
		return int(s.large(e.value).size &^ reordered)
	}
	return 0
}

// value returns the written form of a value. It is valid until scratch is used again.
func (s *splitter) value(start, end int) []byte {
	s.scratch = s.appendValue(s.scratch[:0], start, end)
	return s.scratch
}

func (s *splitter) keySize(depth int, e *entry) int {
	if s.path[depth].array {
		return 0
	}
	s.scratch = s.appendKey(s.scratch[:0], e)
	return unitsOf(s.scratch)
}

func unitsOf(text []byte) int {
	return textspan.Units(unsafe.String(unsafe.SliceData(text), len(text)))
}
