package chunk

import (
	"unsafe"

	"github.com/ragdhq/ragd/internal/fault"
)

// splitJSON cuts a JSON text into JSON texts of at most o.MaxSize. Every value of
// the source is in exactly one chunk, below the keys that lead to it from the
// root: {"a":{"b":[...]}}.
//
// Chunks have no space between tokens. Numbers are as in the source; strings
// have the same value but are written in one way, with o.EnsureASCII as \uxxxx
// where they are not ASCII (keys are left). Object members are in the order of
// the source, but array indexes (keys such as "7") come first, as JavaScript has
// them. With o.ConvertLists arrays are written as objects with indexes for keys;
// at the root they always are.
//
// Below the root each array and object that fits is a chunk, and the scalars
// are gathered in chunks that come when they are full, the last of them last. An
// object that does not fit is filled into as many chunks as it takes, an array
// in it into chunks of its own. An array that does not fit becomes groups of
// items; an item too long for a chunk stands alone below its index. A string too
// long is cut behind a space if it has one, never within a character or escape,
// into parts that make up its value. Neighbouring chunks are joined where one of
// them is below o.MinSize and both fit into one.
//
// A chunk is longer than o.MaxSize only if its keys leave less than 12 units, or
// if it has a number or an empty container alone. A root that is a scalar is
// written as such, an empty one has no chunk.
//
// StartByte and EndByte reach from the first to the last value in the source
// that the chunk has, from the first one's own key on; the keys above are not
// part of it, and in a chunk of scalars other values may stand between. The
// bounds of a part of a string are those of the part.
//
// Arrays and objects may be nested 10,000 deep. As keys repeat in every chunk,
// a split that would make much more text than it reads is refused.
func splitJSON(text string, o *Options) ([]Chunk, error) {
	if err := checkTracked(text); err != nil {
		return nil, err
	}
	x, err := newJSONIndex(text, o.EnsureASCII, o.ConvertLists)
	if err != nil {
		return nil, err
	}
	s := &jsonSplitter{jsonIndex: x, max: o.MaxSize, min: o.MinSize, out: newRebuilder("", &Options{})}
	s.budget = 32<<20 + 16*len(text)
	s.splitRoot()
	s.emit()
	return s.out.chunks, s.out.err
}

// jsonSplitter is the state of a split. It fills groups, the members of one
// container that make a chunk, and holds back the last chunk, which may still be
// joined with the next.
type jsonSplitter struct {
	*jsonIndex
	max, min int
	out      rebuilder
	budget   int // bytes of chunks that may still be made

	prefix  []byte // what opens the containers down to the current one
	group   jsonGroup
	scratch []byte
	last    jsonChunk
}

// jsonNode is a container that is being split.
type jsonNode struct {
	parent *jsonNode
	depth  int
	at     int  // position of the container
	array  bool // its members are written without keys
	prefix int  // length of jsonSplitter.prefix down to here
	size   int  // of the prefix and of what closes it, in units
}

// jsonGroup is members of one container.
type jsonGroup struct {
	node       *jsonNode
	members    []byte
	size       int  // of members, in units
	start, end int  // in the source
	part       bool // a part of a string that is not the first
}

// jsonChunk is a chunk whose containers down to node are open still.
type jsonChunk struct {
	node       *jsonNode
	text       []byte
	size       int // closed, in units
	start, end int
}

func (s *jsonSplitter) splitRoot() {
	switch s.text[s.root] {
	case '{', '[':
	default:
		s.splitScalar()
		return
	}
	s.prefix = append(s.prefix, '{')
	root := &jsonNode{at: s.root, prefix: 1, size: len("{}")}
	scalars := jsonGroup{node: root}
	it := s.entries(s.root)
	for e, ok := it.next(); ok && s.out.err == nil; e, ok = it.next() {
		if s.isContainer(e.value) {
			s.put(&s.group, root, e)
			s.flush(&s.group)
		} else {
			s.put(&scalars, root, e)
		}
	}
	s.flush(&scalars)
}

// splitScalar writes a root that is no container.
func (s *jsonSplitter) splitScalar() {
	e := jsonEntry{key: -1, value: s.root, end: s.valueEnd(s.root)}
	s.put(&s.group, &jsonNode{}, e)
	s.flush(&s.group)
}

func (s *jsonSplitter) isContainer(value int) bool {
	return s.text[value] == '{' || s.text[value] == '['
}

// isArray reports whether a value is written as an array.
func (s *jsonSplitter) isArray(value int) bool { return s.text[value] == '[' && !s.lists }

// splitObject makes chunks of the members of n, which is the current container.
func (s *jsonSplitter) splitObject(n *jsonNode) {
	it := s.entries(n.at)
	for e, ok := it.next(); ok && s.out.err == nil; e, ok = it.next() {
		if s.isArray(e.value) {
			s.flush(&s.group)
		}
		flushed := s.put(&s.group, n, e)
		if s.isArray(e.value) || s.isContainer(e.value) && flushed {
			s.flush(&s.group)
		}
	}
	s.flush(&s.group)
}

// splitArray makes chunks of the items of an array that is an entry of n.
func (s *jsonSplitter) splitArray(n *jsonNode, array *jsonEntry) {
	items := s.enter(n, array, true)
	it := s.entries(array.value)
	for e, ok := it.next(); ok && s.out.err == nil; e, ok = it.next() {
		if size := s.weigh(items, &e); size <= s.max {
			s.fill(&s.group, items, &e, size)
			continue
		}
		s.flush(&s.group)
		s.tooLong(s.enter(n, array, false), &e)
		items = s.enter(n, array, true)
	}
	s.flush(&s.group)
}

// tooLong makes chunks of an entry of n that is too long for one.
func (s *jsonSplitter) tooLong(n *jsonNode, e *jsonEntry) {
	switch c := s.text[e.value]; {
	case c == '"':
		s.splitString(n, e)
	case !s.isContainer(e.value) || s.empty(e.value):
		s.add(&s.group, n, e, s.value(e.value, e.end))
		s.flush(&s.group)
	case s.isArray(e.value):
		s.splitArray(n, e)
	default:
		s.splitObject(s.enter(n, e, false))
	}
}

// enter makes the container that is an entry of n the current one.
func (s *jsonSplitter) enter(n *jsonNode, e *jsonEntry, array bool) *jsonNode {
	s.prefix = s.appendKey(s.prefix[:n.prefix], e)
	if array {
		s.prefix = append(s.prefix, '[')
	} else {
		s.prefix = append(s.prefix, '{')
	}
	added := s.prefix[n.prefix:]
	return &jsonNode{
		parent: n, depth: n.depth + 1, at: e.value, array: array, prefix: len(s.prefix),
		size: n.size + unitsOf(added) + len("}"),
	}
}

// put adds an entry of n to the group; one that does not fit into a chunk
// becomes chunks of its own. It reports whether the group was flushed for it.
func (s *jsonSplitter) put(g *jsonGroup, n *jsonNode, e jsonEntry) (flushed bool) {
	if size := s.weigh(n, &e); size <= s.max {
		return s.fill(g, n, &e, size)
	}
	if g == &s.group {
		s.flush(g)
	}
	s.tooLong(n, &e)
	return false
}

// fill adds an entry of n that has just been weighed to the group, flushing it
// first if both do not fit together.
func (s *jsonSplitter) fill(g *jsonGroup, n *jsonNode, e *jsonEntry, size int) (flushed bool) {
	if len(g.members) > 0 && size+len(",")+g.size > s.max {
		s.flush(g)
		flushed = true
	}
	s.add(g, n, e, s.scratch)
	return flushed
}

// weigh returns the size of a chunk that has but an entry of n, and leaves the
// value as it is written in scratch; a chunk longer than max is not weighed to
// the end.
func (s *jsonSplitter) weigh(n *jsonNode, e *jsonEntry) int {
	size := n.size + s.keySize(n, e)
	if least := s.least(e); size+least > s.max {
		return size + least
	}
	return size + unitsOf(s.value(e.value, e.end))
}

// least returns what a value takes at least, as far as that can be told without
// reading it.
func (s *jsonSplitter) least(e *jsonEntry) int {
	if s.text[e.value] == '"' {
		return (e.end - e.value) / 6 // \uxxxx may become one unit
	}
	if c := s.large(e.value); c != nil {
		return int(c.size &^ reordered)
	}
	return 0
}

// value returns a value as it is written, until the next call.
func (s *jsonSplitter) value(start, end int) []byte {
	s.scratch = s.appendValue(s.scratch[:0], start, end)
	return s.scratch
}

func (s *jsonSplitter) keySize(n *jsonNode, e *jsonEntry) int {
	if n.array || n.prefix == 0 {
		return 0
	}
	s.scratch = s.appendKey(s.scratch[:0], e)
	return unitsOf(s.scratch)
}

func unitsOf(text []byte) int { return units(unsafe.String(unsafe.SliceData(text), len(text))) }

// add appends an entry of n with the given text for its value to the group.
func (s *jsonSplitter) add(g *jsonGroup, n *jsonNode, e *jsonEntry, value []byte) {
	if len(g.members) == 0 {
		g.node, g.start, g.end = n, e.start(), e.end
	} else {
		g.members = append(g.members, ',')
		g.start, g.end = min(g.start, e.start()), max(g.end, e.end)
	}
	from := len(g.members)
	if !n.array && n.prefix > 0 {
		g.members = s.appendKey(g.members, e)
	}
	g.members = append(g.members, value...)
	g.size = g.size + unitsOf(g.members[from:]) + b2i(from > 0)
}

// flush makes a chunk of the group, which becomes the last one or is joined to
// it.
func (s *jsonSplitter) flush(g *jsonGroup) {
	if len(g.members) == 0 {
		return
	}
	if !s.join(g) {
		s.emit()
		s.last.node, s.last.size = g.node, g.node.size+g.size
		s.last.start, s.last.end = g.start, g.end
		s.last.text = append(append(s.last.text[:0], s.prefix[:g.node.prefix]...), g.members...)
	}
	*g = jsonGroup{members: g.members[:0]}
}

// join adds the group to the last chunk if one of them is too short, both fit
// and the last chunk has no member that the group would repeat.
func (s *jsonSplitter) join(g *jsonGroup) bool {
	if s.last.node == nil || g.part || s.last.size >= s.min && g.node.size+g.size >= s.min {
		return false
	}
	// Up to the innermost container that both are in.
	a, b := s.last.node, g.node
	var belowA, belowB *jsonNode
	for a != b {
		if a.depth >= b.depth {
			a, belowA = a.parent, a
		} else {
			b, belowB = b.parent, b
		}
	}
	size := s.last.size + g.node.size + g.size - a.size + len(",")
	if size > s.max || belowA != nil && belowB != nil && belowA.at == belowB.at {
		return false
	}
	s.last.text = appendClosers(s.last.text, s.last.node, a)
	s.last.text = append(s.last.text, ',')
	s.last.text = append(s.last.text, s.prefix[a.prefix:g.node.prefix]...)
	s.last.text = append(s.last.text, g.members...)
	s.last.node, s.last.size = g.node, size
	s.last.start, s.last.end = min(s.last.start, g.start), max(s.last.end, g.end)
	return true
}

// emit appends the last chunk to the result.
func (s *jsonSplitter) emit() {
	if s.last.node == nil {
		return
	}
	text := string(appendClosers(s.last.text, s.last.node, nil))
	if s.budget -= len(text); s.budget < 0 {
		s.out.err = fault.Field("maxSize", "the keys that lead to the values repeat so often that the chunks are more than 16 times as long as the text; choose a larger maxSize")
		return
	}
	s.out.place(Chunk{Text: text, StartByte: s.last.start, EndByte: s.last.end}, nil)
	s.last.node = nil
}

// appendClosers appends what closes the containers from one up to another, which
// stays open.
func appendClosers(dst []byte, from, to *jsonNode) []byte {
	for n := from; n != to && n.prefix > 0; n = n.parent {
		if n.array {
			dst = append(dst, ']')
		} else {
			dst = append(dst, '}')
		}
	}
	return dst
}
