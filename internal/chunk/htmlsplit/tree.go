package htmlsplit

import (
	"slices"
	"strconv"
)

// maxDepth is the largest number of open elements. Deeper ones belong to the last
// open element: their text is kept, but they are not in xpaths.
const maxDepth = 256

// tree has the elements that are open at a position of a document, and numbers
// elements among their siblings. End tags may be missing or out of order.
type tree struct {
	open    []element
	births  int // elements opened so far
	ignored int // open elements below the depth limit
	paths   int // remaining budget for xpaths, in bytes
}

type element struct {
	*tagName
	index int // among its siblings of the same name, from 1
	birth int
}

// tagName is an element name that occurs in the document.
type tagName struct {
	text     string
	tag      tagTraits
	ends     []string // names of the open elements that its start tag ends
	open     int      // number of open elements with the name
	siblings []siblingCount
}

// tagNames are the element names of a document.
type tagNames struct {
	all    map[string]*tagName
	recent [64]*tagName // a cache by hash, so that most tags do not need the map
}

// siblingCount counts the elements of a name whose parent is one open element. The
// counts of a name are in order of depth. Counts of closed parents are dropped when
// the name occurs again.
type siblingCount struct{ depth, parent, n int }

// maxNames limits the number of different element names; real documents have far
// fewer. Elements with further names are not numbered.
const maxNames = 1 << 12

func newTagNames() tagNames { return tagNames{all: make(map[string]*tagName, 32)} }

// get returns the name for a text, which must be in lower case and not empty.
func (names *tagNames) get(text string) *tagName {
	slot := (uint(text[0]) + 7*uint(text[len(text)-1]) + 31*uint(len(text))) % uint(len(names.recent))
	if n := names.recent[slot]; n != nil && n.text == text {
		return n
	}
	n, ok := names.all[text]
	if !ok {
		n = &tagName{text: text, tag: traits[text], ends: endedBy[text]}
		if len(names.all) == maxNames {
			return n
		}
		names.all[text] = n
	}
	names.recent[slot] = n
	return n
}

// number returns the index of a new child of the innermost element.
func (n *tagName) number(depth, parent int) int {
	for len(n.siblings) > 0 && n.siblings[len(n.siblings)-1].depth > depth {
		n.siblings = n.siblings[:len(n.siblings)-1]
	}
	if len(n.siblings) == 0 || n.siblings[len(n.siblings)-1].depth < depth {
		n.siblings = append(n.siblings, siblingCount{depth, parent, 0})
	}
	c := &n.siblings[len(n.siblings)-1]
	if c.parent != parent {
		*c = siblingCount{depth, parent, 0}
	}
	c.n++
	return c.n
}

// element returns a new element for a start tag. It does not open the element.
func (t *tree) element(name *tagName) element {
	parent := 0
	if len(t.open) > 0 {
		parent = t.open[len(t.open)-1].birth
	}
	t.births++
	return element{tagName: name, index: name.number(len(t.open), parent), birth: t.births}
}

// push opens an element and reports whether it did. At the depth limit it opens only
// elements with must.
func (t *tree) push(e element, must bool) bool {
	if len(t.open) >= maxDepth && !must {
		t.ignored++
		return false
	}
	t.ignored = 0
	e.open++
	t.open = append(t.open, e)
	return true
}

// pop closes the innermost element.
func (t *tree) pop() {
	t.open[len(t.open)-1].open--
	t.open = t.open[:len(t.open)-1]
	t.ignored = 0
}

// endTag returns how many elements stay open after an end tag.
func (t *tree) endTag(name *tagName) int {
	if t.ignored > 0 {
		t.ignored--
		return len(t.open)
	}
	if name.open == 0 {
		return len(t.open)
	}
	i := len(t.open) - 1
	for t.open[i].tagName != name {
		i--
	}
	return i
}

// startTag returns how many elements stay open before a start tag, which ends elements
// whose end tag may be left out.
func (t *tree) startTag(name *tagName) int {
	keep := len(t.open)
	if name.ends == nil && !name.tag.is(blockTag) {
		return keep
	}
	for i := len(t.open) - 1; i >= 0; i-- {
		e := &t.open[i]
		switch {
		case name.tag.is(headingTag) && e.tag.is(headingTag):
			return i
		case slices.Contains(name.ends, e.text), name.tag.is(blockTag) && e.text == "p":
			keep = i
		case !e.tag.is(inlineTag):
			return keep
		}
	}
	return keep
}

// maxXPath is the longest xpath in bytes.
const maxXPath = 4096

// xpath returns the path to the innermost element, such as
// /html[1]/body[1]/h2[3]. It returns "" if the path exceeds maxXPath or all paths
// together exceed their budget.
func (t *tree) xpath() string {
	if t.paths <= 0 {
		return ""
	}
	b := make([]byte, 0, min(16*len(t.open), maxXPath))
	for _, e := range t.open {
		if len(b)+len(e.text) > maxXPath {
			return ""
		}
		b = append(b, '/')
		b = append(b, e.text...)
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(e.index), 10)
		b = append(b, ']')
	}
	if t.paths -= len(b); t.paths < 0 {
		return ""
	}
	return string(b)
}
