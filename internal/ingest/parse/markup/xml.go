package markup

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// element is an element of XML, or a piece of text, which has no name.
type element struct {
	name     string // without its prefix
	text     string
	attrs    []xml.Attr
	children []*element // in order
	line     int        // where it begins, from 1
}

// Errors of XML.
var (
	// ErrXMLDepth means that elements stand in each other more than MaxXMLDepth deep.
	ErrXMLDepth = errors.New("elements stand in each other too deep")
	// ErrXMLSyntax means that a text is no XML.
	ErrXMLSyntax = errors.New("it is not XML")
)

// MaxXMLDepth bounds the nesting of elements.
const MaxXMLDepth = 256

// XML returns the values of an XML file, a line for each with the names of the elements that lead to it from
// the root, without the root:
//
//	book > id: 7
//	book > author > name: Rosa Keel
//
// Attributes are values as well. Text that has elements in it is one value. Between records, the outermost
// elements that repeat, are blank lines. DocBook and alike are read as documents instead, with headings and
// paragraphs. Entities that the file defines are left out. Errors: ErrXMLDepth, ErrXMLSyntax.
func XML(source string) (Text, error) {
	root, err := readXML(source)
	if err != nil {
		return Text{}, err
	}
	if sectioning[root.name] && root.name != "" {
		w := &xmlDocument{}
		w.section(root, 1)
		return Text{Markdown: w.String(), Title: w.title}, nil
	}
	w := &xmlFields{}
	w.start(root)
	text := Text{Markdown: w.String(), Lines: w.lines}
	for _, c := range root.children {
		if strings.EqualFold(c.name, "title") {
			text.Title = oneLine(c.all())
		}
	}
	return text, nil
}

// readXML returns the root element. Unknown entities are left as they are written.
func readXML(source string) (*element, error) {
	d := xml.NewDecoder(strings.NewReader(source))
	d.Strict, d.Entity = false, xml.HTMLEntity
	d.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil } // it is decoded already
	var top element
	open := []*element{&top}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.Join(ErrXMLSyntax, err)
		}
		in := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			if len(open) > MaxXMLDepth {
				return nil, ErrXMLDepth
			}
			line, _ := d.InputPos()
			child := &element{name: t.Name.Local, attrs: t.Copy().Attr, line: line}
			in.children = append(in.children, child)
			open = append(open, child)
		case xml.EndElement:
			for i := len(open) - 1; i > 0; i-- {
				if open[i].name == t.Name.Local {
					open = open[:i]
					break
				}
			}
		case xml.CharData:
			in.children = append(in.children, &element{text: string(t)})
		}
	}
	for _, c := range top.children {
		if c.name != "" {
			if more := top.elements(); len(more) > 1 { // a file of several roots, such as a log
				return &top, nil
			}
			return c, nil
		}
	}
	return nil, ErrXMLSyntax
}

// elements returns the children that are elements.
func (e *element) elements() []*element {
	var out []*element
	for _, c := range e.children {
		if c.name != "" {
			out = append(out, c)
		}
	}
	return out
}

// all returns the text in an element and those in it.
func (e *element) all() string {
	var out strings.Builder
	e.write(&out)
	return out.String()
}

func (e *element) write(out *strings.Builder) {
	out.WriteString(e.text)
	for _, c := range e.children {
		c.write(out)
	}
}

// isValue reports whether an element is written as one value: it has text right in it, or nothing.
func (e *element) isValue() bool {
	elements := false
	for _, c := range e.children {
		if c.name == "" && strings.TrimSpace(c.text) != "" {
			return true
		}
		elements = elements || c.name != ""
	}
	return !elements
}

// attr returns an attribute by its name without a prefix.
func (e *element) attr(name string) string {
	for _, a := range e.attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// xmlFields writes values with their paths.
type xmlFields struct {
	page

	pause bool // the next value begins a block
	lines []int
}

func (w *xmlFields) start(root *element) {
	w.attributes("", root)
	if root.isValue() {
		w.value(root.name, root.all(), root.line)
		return
	}
	w.children("", root, false)
}

// children writes the elements in e. Those that repeat, or stand right in the root, are records unless e is in
// one.
func (w *xmlFields) children(path string, e *element, inRecord bool) {
	times := map[string]int{}
	for _, c := range e.children {
		if c.name != "" && (!c.isValue() || len(c.attrs) > 1) {
			times[c.name]++
		}
	}
	for _, c := range e.children {
		if c.name == "" {
			continue
		}
		record := !inRecord && times[c.name] > 1
		outer := !inRecord && path == "" && !c.isValue()
		w.pause = w.pause || record || outer
		w.field(join(path, c.name), c, inRecord || record)
		w.pause = w.pause || record || outer
	}
}

func (w *xmlFields) field(path string, e *element, inRecord bool) {
	w.attributes(path, e)
	if e.isValue() {
		w.value(path, e.all(), e.line)
		return
	}
	w.children(path, e, inRecord)
}

// attributes writes the attributes of an element, but not those about XML itself.
func (w *xmlFields) attributes(path string, e *element) {
	for _, a := range e.attrs {
		if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" || a.Name.Space == "xml" || a.Name.Local == "schemaLocation" || a.Name.Local == "noNamespaceSchemaLocation" {
			continue
		}
		w.value(join(path, a.Name.Local), a.Value, e.line)
	}
}

// maxPath bounds a path, in bytes: it is repeated before each value.
const maxPath = 256

func join(path, name string) string {
	if path == "" || len(path)+len(name) > maxPath {
		return name
	}
	return path + " > " + name
}

// value writes a value of an element in a line of the source.
func (w *xmlFields) value(path, value string, line int) {
	if value = oneLine(value); value == "" || w.Len() > maxMarkdown {
		return
	}
	if w.Len() > 0 {
		w.write("\n")
		if w.pause {
			w.write("\n")
			w.lines = append(w.lines, line)
		}
	}
	w.lines = append(w.lines, line)
	w.pause = false
	if path != "" {
		w.write(path + ": ")
	}
	w.write(value)
}

// sectioning are the elements of DocBook and DITA that have a title and blocks.
var sectioning = words("set book part article chapter preface appendix glossary section simplesect sect1 sect2 sect3 sect4 sect5 refentry refsect1 refsect2 refsect3 refsection topic concept task reference partintro colophon bibliography dedication refsynopsisdiv info bookinfo articleinfo")

func words(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

var (
	codeElements  = words("programlisting screen literallayout codeblock pre synopsis funcsynopsisinfo")
	noteElements  = words("note tip warning caution important danger")
	leftOut       = words("indexterm anchor remark toc lot index mediaobject inlinemediaobject imageobject legalnotice keywordset author authorgroup copyright releaseinfo revhistory refmeta prolog")
	listElements  = words("itemizedlist orderedlist ul ol simplelist procedure steps substeps steps-unordered calloutlist")
	inlineElement = words("emphasis literal command filename option replaceable ulink link xref code function varname parameter constant quote citetitle userinput b i u tt codeph cmdname trademark acronym abbrev envar systemitem type email term uri guilabel prompt computeroutput")
)

// xmlDocument writes a document of DocBook or DITA as Markdown.
type xmlDocument struct {
	page

	title string
}

// section writes a section: its title as a heading, then its blocks.
func (w *xmlDocument) section(e *element, level int) {
	for _, c := range e.children {
		switch {
		case c.name == "title", c.name == "refname":
			if w.title == "" {
				w.title = oneLine(c.all())
			}
			w.heading(level, c.all())
		case c.name == "info", c.name == "bookinfo", c.name == "articleinfo":
			w.section(c, level)
		case sectioning[c.name]:
			w.section(c, level+1)
		default:
			w.blocks(&w.page, c, 0)
		}
	}
}

// blocks writes an element that is no section.
func (w *xmlDocument) blocks(p *page, e *element, depth int) {
	switch {
	case e.name == "":
		p.paragraph(e.text)
	case leftOut[e.name]:
	case codeElements[e.name]:
		p.code(e.all(), e.attr("language"))
	case noteElements[e.name] && depth < maxNesting:
		p.block(labeled(capitalized(e.name), w.inner(e, depth+1)))
	case listElements[e.name] && depth < maxNesting:
		for _, c := range e.elements() {
			if c.name == "title" {
				p.paragraph(c.all())
				continue
			}
			p.item("-", w.inner(c, depth+1))
		}
		p.tight = false
	case e.name == "varlistentry" && depth < maxNesting:
		w.entry(p, e, depth)
	case e.name == "tgroup" || e.name == "informaltable" && len(e.elements()) > 0 && e.elements()[0].name != "tgroup":
		p.table(rowsOf(e, nil, 0))
	case e.hasBlocks():
		for _, c := range e.children {
			w.blocks(p, c, depth)
		}
	default:
		p.paragraph(inlineXML(e))
	}
}

func (w *xmlDocument) inner(e *element, depth int) string {
	var in page
	if e.hasBlocks() {
		for _, c := range e.children {
			w.blocks(&in, c, depth)
		}
	} else {
		in.paragraph(inlineXML(e))
	}
	return in.String()
}

// entry writes a term and what is said about it.
func (w *xmlDocument) entry(p *page, e *element, depth int) {
	var terms []string
	var said page
	for _, c := range e.elements() {
		if c.name == "term" {
			terms = append(terms, oneLine(c.all()))
			continue
		}
		w.blocks(&said, c, depth+1)
	}
	p.item("-", labeled(strings.Join(terms, ", "), said.String()))
}

// hasBlocks reports whether an element has other elements than those within a line of text.
func (e *element) hasBlocks() bool {
	for _, c := range e.children {
		if c.name != "" && !inlineElement[c.name] && !leftOut[c.name] && (codeElements[c.name] || listElements[c.name] || noteElements[c.name] || !e.isValue()) {
			return true
		}
	}
	return false
}

// rowsOf returns the rows of a table.
func rowsOf(e *element, rows [][]string, depth int) [][]string {
	for _, c := range e.elements() {
		switch {
		case c.name == "row" || c.name == "tr" || c.name == "strow" || c.name == "sthead":
			var row []string
			for _, cell := range c.elements() {
				row = append(row, inlineXML(cell))
			}
			rows = append(rows, row)
		case depth < maxNesting:
			rows = rowsOf(c, rows, depth+1)
		}
	}
	return rows
}

// inlineXML returns the text of an element with its links.
func inlineXML(e *element) string {
	var out strings.Builder
	var write func(e *element)
	write = func(e *element) {
		address := e.attr("url")
		if address == "" {
			address = e.attr("href")
		}
		switch {
		case leftOut[e.name]:
			return
		case isAddress(address):
			out.WriteString(link(e.all(), address))
			return
		}
		out.WriteString(e.text)
		for _, c := range e.children {
			if c.name != "" && !inlineElement[c.name] {
				out.WriteByte(' ')
			}
			write(c)
		}
	}
	write(e)
	return oneLine(out.String())
}
