// Package htmlsplit cuts HTML documents at the elements that selectors match.
package htmlsplit

import (
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/chunk/outline"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// Options say where to cut.
type Options struct {
	Selectors      []Selector
	Sections       bool // selected elements other than headings are containers; neighbours are never joined
	ReturnEachLine bool // neighbours with the same titles are not joined
	Track          bool // Body.Bounds can be called
	Steps          *limit.Steps
}

// Section is text of a document with its metadata.
type Section struct {
	Body   *assembly.Text // valid until emit returns; nil if the section is only a title
	Title  string         // if Body is nil: the title of a header without text
	Source textspan.Span  // bounds of Title
	Fields []outline.Field
}

// Split calls emit with the text under each header, in document order. A header is
// an element that a selector matches. All visible text is in exactly one section or is the
// title of one. Text before the first header is a section of its own.
//
// The text of a header is its title. The fields of a section have the titles of all
// headers that enclose it (h1 encloses h2 and so on) under their keys, and the xpath
// of the innermost one; xpaths are left out once all of them exceed 1 MB plus
// twice the document. Neighbouring sections with the same titles are joined unless
// o.ReturnEachLine is set. A header that encloses neither text nor headers is a
// section with its title as text. The text of a header longer than
// outline.MaxTitle is text of its section; its beginning is the title.
//
// With o.Sections neighbours are never joined, and a selected element other than h1
// to h6 is a container: its text is a section, its title is the first heading in it,
// and text after its end belongs to the enclosing header or container.
//
// Tags and comments are removed, entities are decoded, and white space is kept. A tag
// becomes a space unless it is inline like <b>; line breaks between tags become one.
// Scripts, styles and their fallback content, such as noscript, are not text.
//
// The span of a body reaches from the first to the last character of the text in
// the source, tags included and the header excluded.
//
// Errors are Invalid about text, that of o.Steps, or the first error of emit.
func Split(text string, o Options, emit func(Section) error) error {
	if err := assembly.CheckLength(text); err != nil {
		return err
	}
	s := newSplitter(text, o, emit)
	for s.err == nil {
		s.scan.next()
		if !o.Steps.Next(s.scan.end - s.scan.start + tagSteps*len(o.Selectors)) {
			return o.Steps.Err()
		}
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

// tagSteps is what comparing a tag with a selector costs.
const tagSteps = 16

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
	headerAt int  // depth of header in the tree
	caption  int  // depth in the tree of a heading that titles a container; -1 if none
	from     int  // start of the caption in body

	tail      textspan.Span // white space at the end of the last text
	gap       string        // what joins it to the next text
	verbatim  int           // depth in the tree of the outermost element that keeps white space; -1 if none
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
		s.closeTo(min(len(s.tree.open), maxDepth)) // make space at the depth limit, where headers are still opened
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

// opened sets verbatim if the element that was just opened keeps white space.
func (s *splitter) opened(e element) {
	if e.tag.is(verbatimTag) && s.verbatim < 0 {
		s.verbatim = len(s.tree.open) - 1
	}
}

// selected returns the selector that matches the start tag, nil if there is none.
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
