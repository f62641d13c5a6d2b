package chunk

import "strings"

// splitHTML makes a chunk of the text under each element that o.Headers or else
// o.Sections select, in document order. Every piece of visible text is in exactly
// one chunk or is the title of one; text before the first header makes a chunk
// of its own.
//
// A header's text is its title: it is stored under the header's key, beside
// those of the headers that enclose it, h2 in h1 and so on, and beside the
// xpath of the header (but for those that would make up more than the document
// itself). Neighbours with the same titles make one chunk unless
// o.ReturnEachLine is set. A header that no text and no other header follows is
// a chunk with its title for text, and so is one whose title is too long to be
// one. Sections work alike, except that neighbours are never joined, and that
// an element other than h1 to h6 is a container: its text is a chunk, its title
// the first heading inside, and what follows its end belongs to what it stands in.
//
// Tags and comments fall away, entities are decoded, white space stays as it is.
// A tag that does not stand within a line, as <b> does, leaves a space, and line
// breaks between tags leave one. Scripts, styles and what browsers show in place
// of them are not text. Where o.MaxSize is set, longer chunks are cut further by
// the recursive strategy.
//
// StartByte and EndByte reach from the first to the last character of the text
// in the source: tags in between lie inside, the header does not.
func splitHTML(text string, o *Options) ([]Chunk, error) {
	if err := checkTracked(text); err != nil {
		return nil, err
	}
	s, err := newHTMLSections(text, o)
	if err != nil {
		return nil, err
	}
	for s.out.err == nil {
		s.scan.next()
		switch s.scan.kind {
		case htmlEnd:
			s.end()
			return s.out.chunks, s.out.err
		case htmlText:
			s.addText(s.scan.start, s.scan.end, strings.IndexByte(text[s.scan.start:s.scan.end], '&') >= 0)
		case htmlRaw:
			s.addText(s.scan.start, s.scan.end, false)
		case htmlStartTag:
			s.startTag()
		case htmlEndTag:
			s.endTag()
		}
	}
	return nil, s.out.err
}

// htmlSections is the state of a split while it reads tokens.
type htmlSections struct {
	text      string
	scan      htmlScanner
	tree      htmlTree
	selectors []htmlSelector
	sections  bool // the selectors are of o.Sections
	joins     bool
	out       rebuilder

	path  []htmlHeader // outermost first
	body  assembly     // the text under the last of path
	title assembly     // the text of header, while it is open

	header   htmlHeader
	titled   bool // header is open
	headerAt int  // its depth in the tree
	caption  int  // depth in the tree of a heading that names a container; -1 if none
	from     int  // where the caption starts in body

	tail      span   // white space at the end of the last text
	gap       string // what else stands between it and the next
	verbatim  int    // depth in the tree of the outermost element in which white space counts; -1 if none
	container int    // depth in the tree of the innermost container; -1 if none
}

func newHTMLSections(text string, o *Options) (*htmlSections, error) {
	s := &htmlSections{text: text, out: newRebuilder(text, o), caption: -1, verbatim: -1, container: -1}
	field, pairs := "headers", o.Headers
	if len(pairs) == 0 {
		field, pairs, s.sections = "sections", o.Sections, true
	}
	s.joins, s.out.trims = !s.sections && !o.ReturnEachLine, true
	var err error
	if s.selectors, err = parseSelectors(field, pairs); err != nil {
		return nil, err
	}
	s.tree.paths = 1<<20 + 2*len(text)
	s.scan = htmlScanner{text: text, names: newHTMLNames()}
	s.body = assembly{source: text, track: s.out.tracks(), joinLen: len(" ")}
	s.title = s.body
	return s, nil
}

func (s *htmlSections) end() {
	s.closeTo(0)
	s.endTitle()
	s.flush()
	s.leave(0)
}

func (s *htmlSections) startTag() {
	name := s.scan.name
	s.closeTo(s.tree.startTag(name))
	if name.tag.is(blockTag) && s.titled && s.title.visible {
		s.endTitle()
	}
	s.space(name)
	selector := s.selected()
	title := selector != nil && (!s.sections || name.tag.is(headingTag))
	if title {
		s.closeTo(min(len(s.tree.open), maxHTMLDepth)) // where one is open already at the depth limit
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
func (s *htmlSections) opened(e htmlElement) {
	if e.tag.is(verbatimTag) && s.verbatim < 0 {
		s.verbatim = len(s.tree.open) - 1
	}
}

// selected returns the selector that picks the element of the start tag.
func (s *htmlSections) selected() *htmlSelector {
	for i := range s.selectors {
		if s.selectors[i].matches(s.scan.name.text, s.scan.id, s.scan.class) {
			return &s.selectors[i]
		}
	}
	return nil
}

func (s *htmlSections) endTag() {
	name := s.scan.name
	s.space(name)
	if s.titled && name.tag.is(headingTag) && name.open == 0 && s.tree.open[s.headerAt].tag.is(headingTag) {
		s.closeTo(s.headerAt) // <h1>...</h2>
		return
	}
	s.closeTo(s.tree.endTag(name))
}

// closeTo closes all elements but the depth outermost ones.
func (s *htmlSections) closeTo(depth int) {
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
