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
	top := &node{}
	open := []*node{top}
	err := walkXML(data, func(token xml.Token, _ int) error {
		in := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			child := &node{name: t.Name.Local, attrs: t.Copy().Attr}
			in.children = append(in.children, child)
			open = append(open, child)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			in.content = append(in.content, t...)
		}
		return nil
	})
	if err != nil {
		return top, err
	}
	if len(top.children) == 0 {
		return top, errNoRoot
	}
	return top.children[0], nil
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
