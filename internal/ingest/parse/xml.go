package parse

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"

	"golang.org/x/net/html/charset"
)

// maxXMLDepth bounds the nesting of elements.
const maxXMLDepth = 512

// node is an element of a small XML file, such as a list of relations.
type node struct {
	name     string // without its prefix
	attrs    []xml.Attr
	children []*node
	content  []byte // the text right in it
}

// attr returns an attribute by its local name.
func (n *node) attr(name string) string { return attrOf(n.attrs, name) }

func attrOf(attrs []xml.Attr, name string) string {
	for _, a := range attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// all calls visit with the elements below n that have the name.
func (n *node) all(name string, visit func(*node)) {
	for _, child := range n.children {
		if child.name == name {
			visit(child)
		}
		child.all(name, visit)
	}
}

// newDecoder returns a decoder that knows no entities but those of XML, so that entities
// of the file cannot expand.
func newDecoder(data []byte) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(label string, input io.Reader) (io.Reader, error) { return charset.NewReaderLabel(label, input) }
	return d
}

// tree reads a whole small XML file and returns its root element.
func tree(data []byte) (*node, error) {
	var b treeBuilder
	if err := walkXML(data, func(token xml.Token, _ int) error { b.add(token); return nil }); err != nil {
		return &b.top, err
	}
	if len(b.top.children) == 0 {
		return &b.top, errNoRoot
	}
	return b.top.children[0], nil
}

// treeBuilder makes a tree of tokens. Its zero value is ready.
type treeBuilder struct {
	top  node
	open []*node // below top
}

// add adds a token and reports whether all elements have ended.
func (b *treeBuilder) add(token xml.Token) (whole bool) {
	in := &b.top
	if n := len(b.open); n > 0 {
		in = b.open[n-1]
	}
	switch t := token.(type) {
	case xml.StartElement:
		child := &node{name: t.Name.Local, attrs: t.Copy().Attr}
		in.children = append(in.children, child)
		b.open = append(b.open, child)
	case xml.EndElement:
		b.open = b.open[:max(len(b.open)-1, 0)]
	case xml.CharData:
		in.content = append(in.content, t...)
	}
	return len(b.open) == 0
}

// first returns the first element below n with the name, or an empty one.
func (n *node) first(name string) *node {
	for _, child := range n.children {
		if child.name == name {
			return child
		}
		if found := child.first(name); found.name != "" {
			return found
		}
	}
	return &node{}
}

// child returns the first child of n with the name, or an empty one.
func (n *node) child(name string) *node {
	for _, child := range n.children {
		if child.name == name {
			return child
		}
	}
	return &node{}
}

var errNoRoot = errors.New("there is no element")

var errDeep = errors.New("elements stand in each other too deep")

// walkXML calls visit for each token, with its depth: 1 for the root element's
// start and end.
func walkXML(data []byte, visit func(token xml.Token, depth int) error) error {
	d := newDecoder(data)
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, ok := token.(xml.StartElement); ok {
			if depth++; depth > maxXMLDepth {
				return errDeep
			}
		}
		if err := visit(token, depth); err != nil {
			return err
		}
		if _, ok := token.(xml.EndElement); ok {
			depth--
		}
	}
}
