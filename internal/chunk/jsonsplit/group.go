package jsonsplit

import "github.com/ragdhq/ragd/internal/operate/fault"

// group collects members of one container for a chunk. depth is the container's depth
// in the path; the root has depth 0.
type group struct {
	depth      int
	members    []byte
	size       int  // of members, in units
	start, end int  // in the source
	part       bool // a segment of a string, but not the first
}

// openChunk is a chunk whose containers are still open.
type openChunk struct {
	path       []node // the open containers; none if there is no chunk
	text       []byte
	size       int // including closing brackets, in units
	start, end int
}

// All chunks together may be at most maxKeyRepeat times as long as the source, plus
// keyRepeatSlack bytes: unlike an overlap, repeated keys take memory.
const (
	maxKeyRepeat   = 4
	keyRepeatSlack = 32 << 20
)

// fill adds an entry to the group. If both do not fit into one chunk, it flushes the
// group first. The written value must be in scratch, where weigh leaves it.
func (s *splitter) fill(g *group, depth int, e *entry, size int) (flushed bool) {
	if len(g.members) > 0 && size+len(",")+g.size > s.max {
		s.flush(g)
		flushed = true
	}
	s.add(g, depth, e, s.scratch)
	return flushed
}

// add appends an entry at a depth to the group. value is its written value.
func (s *splitter) add(g *group, depth int, e *entry, value []byte) {
	if len(g.members) == 0 {
		g.depth, g.start, g.end = depth, e.start(), e.end
	} else {
		g.members = append(g.members, ',')
		g.start, g.end = min(g.start, e.start()), max(g.end, e.end)
	}
	from := len(g.members)
	if !s.path[depth].array {
		g.members = s.appendKey(g.members, e)
	}
	g.members = append(g.members, value...)
	g.size += unitsOf(g.members[from:])
	if from > 0 {
		g.size += len(",")
	}
}

// flush joins the group to the last chunk or, if they do not fit together, emits that
// and makes the group the last chunk. The container of the group must still be on the
// path.
func (s *splitter) flush(g *group) {
	if len(g.members) == 0 {
		return
	}
	if !s.join(g) {
		s.emit()
		node := s.path[g.depth]
		s.last.path = append(s.last.path[:0], s.path[:g.depth+1]...)
		s.last.size = node.size + g.size
		s.last.start, s.last.end = g.start, g.end
		s.last.text = append(append(s.last.text[:0], s.prefix[:node.prefix]...), g.members...)
	}
	*g = group{members: g.members[:0]}
}

// join adds the group to the last chunk if one of them is shorter than the minimum,
// both fit, and no key or container would occur twice. It reports whether it did.
func (s *splitter) join(g *group) bool {
	node := s.path[g.depth]
	if len(s.last.path) == 0 || g.part || s.last.size >= s.min && node.size+g.size >= s.min {
		return false
	}
	same := 0 // number of containers that both have
	for same < len(s.last.path) && same <= g.depth && s.last.path[same] == s.path[same] {
		same++
	}
	common := s.path[same-1]
	if same < len(s.last.path) && same <= g.depth && s.last.path[same].at == s.path[same].at {
		return false // the same array, once as a list and once by indexes
	}
	size := s.last.size + node.size + g.size - common.size + len(",")
	if size > s.max {
		return false
	}
	s.last.close(same)
	s.last.text = append(s.last.text, ',')
	s.last.text = append(s.last.text, s.prefix[common.prefix:node.prefix]...)
	s.last.text = append(s.last.text, g.members...)
	s.last.path = append(s.last.path, s.path[same:g.depth+1]...)
	s.last.size = size
	s.last.start, s.last.end = min(s.last.start, g.start), max(s.last.end, g.end)
	return true
}

// emit closes the last chunk, if there is one, and outputs it.
func (s *splitter) emit() {
	if len(s.last.path) == 0 {
		return
	}
	s.last.close(0)
	if s.budget -= len(s.last.text); s.budget < 0 {
		s.err = fault.Field("maxSize", "the keys that lead to the values repeat so often that the chunks are more than %d times as long as the text; choose a larger maxSize", maxKeyRepeat)
		return
	}
	if err := s.out(string(s.last.text), s.last.start, s.last.end); err != nil && s.err == nil {
		s.err = err
	}
}

// close closes all containers but the outermost ones.
func (c *openChunk) close(outermost int) {
	for i := len(c.path) - 1; i >= outermost; i-- {
		switch {
		case c.path[i].prefix == 0: // a root without brackets
		case c.path[i].array:
			c.text = append(c.text, ']')
		default:
			c.text = append(c.text, '}')
		}
	}
	c.path = c.path[:outermost]
}
