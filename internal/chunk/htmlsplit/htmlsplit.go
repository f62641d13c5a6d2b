// Package htmlsplit cuts HTML documents at elements that selectors pick.
package htmlsplit

import (
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/chunk/outline"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// Options say where to cut.
type Options struct {
	Selectors      []Selector
	Sections       bool // elements other than headings are containers; neighbours are never joined
	ReturnEachLine bool // neighbours with the same titles are not joined
	Track          bool // bodies know the bounds of their parts
}

// Section is text of a document with its metadata.
type Section struct {
	Body   *assembly.Text // valid during the call of emit; nil for a title alone
	Title  string         // without a body, the title of a heading with no text under it
	Source textspan.Span  // of Title
	Fields []outline.Field
}

// Split calls emit with the text under each element that the selectors pick, in
// document order. Every piece of visible text is in exactly one section or is the
// title of one; text before the first header makes a section of its own.
//
// A header's text is its title: it is stored under the header's key, beside
// those of the headers that enclose it, h2 in h1 and so on, and beside the
// xpath of the header (but for those that would make up more than the document
// itself). Neighbours with the same titles make one section unless
// o.ReturnEachLine is set. A header that no text and no other header follows is
// a section with its title for text, and so is one whose title is too long to be
// one. With o.Sections it is the same, except that neighbours are never joined, and that
// an element other than h1 to h6 is a container: its text is a section, its title
// the first heading inside, and what follows its end belongs to what it stands in.
//
// Tags and comments fall away, entities are decoded, white space stays as it is.
// A tag that does not stand within a line, as <b> does, leaves a space, and line
// breaks between tags leave one. Scripts, styles and what browsers show in place
// of them are not text.
//
// The span of a body reaches from the first to the last character of the text in
// the source: tags in between lie inside, the header does not.
//
// Errors are Invalid about text, or the first error of emit.
func Split(text string, o Options, emit func(Section) error) error {
	if err := assembly.CheckLength(text); err != nil {
		return err
	}
	s := newSplitter(text, o, emit)
	for s.err == nil {
		s.scan.next()
		switch s.scan.kind {
		case endOfText:
			s.end()
			return s.err
		case textToken:
			s.addText(s.scan.start, s.scan.end, strings.IndexByte(text[s.scan.start:s.scan.end], '&') >= 0)
		case rawToken:
			s.addText(s.scan.start, s.scan.end, false)
		case startToken:
			s.startTag()
		case endToken:
			s.endTag()
		}
	}
	return s.err
}

// splitter is the state of a split while it reads tokens.
type splitter struct {
	text      string
	scan      scanner
	tree      tree
	selectors []Selector
	sections  bool // see Options
	joins     bool
	out       func(Section) error
	err       error // the first

	path  []heading     // outermost first
	body  assembly.Text // the text under the last of path
	title assembly.Text // the text of header, while it is open

	header   heading
	titled   bool // header is open
	headerAt int  // its depth in the tree
	caption  int  // depth in the tree of a heading that names a container; -1 if none
	from     int  // where the caption starts in body

	tail      textspan.Span // white space at the end of the last text
	gap       string        // what else stands between it and the next
	verbatim  int           // depth in the tree of the outermost element in which white space counts; -1 if none
	container int           // depth in the tree of the innermost container; -1 if none
}

func newSplitter(text string, o Options, emit func(Section) error) *splitter {
	s := &splitter{text: text, selectors: rank(o.Selectors), sections: o.Sections, out: emit, caption: -1, verbatim: -1, container: -1}
	s.joins = !o.Sections && !o.ReturnEachLine
	s.tree.paths = 1<<20 + 2*len(text)
	s.scan = scanner{text: text, names: newTagNames()}
	s.body = assembly.New(text, o.Track, len(" "))
	s.title = s.body
	return s
}

func (s *splitter) emit(section Section) {
	if err := s.out(section); err != nil && s.err == nil {
		s.err = err
	}
}

func (s *splitter) end() {
	s.closeTo(0)
	s.endTitle()
	s.flush()
	s.leave(0)
}

func (s *splitter) startTag() {
	name := s.scan.name
	s.closeTo(s.tree.startTag(name))
	if name.tag.is(blockTag) && s.titled && s.title.Visible() {
		s.endTitle()
	}
	s.space(name)
	selector := s.selected()
	title := selector != nil && (!s.sections || name.tag.is(headingTag))
	if title {
		s.closeTo(min(len(s.tree.open), maxDepth)) // where one is open already at the depth limit
	}
	e := s.tree.element(name)
	empty := name.tag.is(voidTag) || s.scan.selfClosing
	switch {
	case selector == nil:
		if !empty && s.tree.push(e, false) {
			s.opened(e)
			s.beginCaption(e)
		}
	case title:
		s.tree.push(e, true)
		s.opened(e)
		s.beginTitle(selector)
		if empty {
			s.closeTo(s.headerAt)
		}
	case !empty && s.tree.push(e, false):
		s.opened(e)
		s.beginContainer(selector)
	}
}

// opened notes that white space counts from here on, if it does in an element
// that was just opened.
func (s *splitter) opened(e element) {
	if e.tag.is(verbatimTag) && s.verbatim < 0 {
		s.verbatim = len(s.tree.open) - 1
	}
}

// selected returns the selector that picks the element of the start tag.
func (s *splitter) selected() *Selector {
	for i := range s.selectors {
		if s.selectors[i].matches(s.scan.name.text, s.scan.id, s.scan.class) {
			return &s.selectors[i]
		}
	}
	return nil
}

func (s *splitter) endTag() {
	name := s.scan.name
	s.space(name)
	if s.titled && name.tag.is(headingTag) && name.open == 0 && s.tree.open[s.headerAt].tag.is(headingTag) {
		s.closeTo(s.headerAt) // <h1>...</h2>
		return
	}
	s.closeTo(s.tree.endTag(name))
}

// closeTo closes all elements but the depth outermost ones.
func (s *splitter) closeTo(depth int) {
	for len(s.tree.open) > depth {
		last := len(s.tree.open) - 1
		if s.titled && s.headerAt == last {
			s.endTitle()
		}
		if s.caption == last {
			s.endCaption()
		}
		if s.verbatim == last {
			s.verbatim = -1
		}
		if s.container == last {
			s.endContainer()
		}
		s.tree.pop()
	}
}
