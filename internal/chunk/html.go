package chunk

import (
	"html"
	"strings"
	"unicode/utf8"
)

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

// htmlHeader is a header or container that encloses a place.
type htmlHeader struct {
	header
	xpath     string
	text      span // of the title, in the source
	used      bool // a chunk carries the title
	container int  // its depth in the tree; -1 if it is none
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
	s.body = assembly{source: text, track: s.out.tracks()}
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
		}
	case title:
		s.tree.push(e, true)
		s.beginTitle(selector)
		if empty {
			s.endTitle()
			s.tree.pop()
		}
	case !empty && s.tree.push(e, false):
		s.beginContainer(selector)
	}
}

// opened looks at an element that no selector picked.
func (s *htmlSections) opened(e htmlElement) {
	depth := len(s.tree.open) - 1
	switch {
	case e.tag.is(verbatimTag) && s.verbatim < 0:
		s.verbatim = depth
	case e.tag.is(headingTag) && s.container >= 0 && s.caption < 0:
		s.caption, s.from = depth, s.body.len()
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

// space notes that a tag stands between words, unless it stands within a line.
func (s *htmlSections) space(name *htmlName) {
	if s.gap == "" && !name.tag.is(inlineTag) {
		s.gap = " "
	}
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

// addText adds the text of a token, whose entities are still to be decoded. The
// white space at its end waits for the next text.
func (s *htmlSections) addText(start, end int, encoded bool) {
	a := &s.body
	if s.titled {
		a = &s.title
	}
	from, to := trim(s.text, start, end)
	switch {
	case from == to && s.verbatim < 0:
		s.blank(start, end)
		return
	case a.len() == 0:
		start = from
	default:
		a.add(s.tail.start, s.tail.end)
		if s.gap != "" {
			a.join(s.gap)
		}
	}
	if from == to {
		to = start
	}
	s.gap, s.tail = "", span{to, end}
	for encoded && start < to {
		i := strings.IndexByte(s.text[start:to], '&')
		if i < 0 {
			break
		}
		a.add(start, start+i)
		start = s.addEntity(a, start+i, to)
		if a.len() == 0 { // it was white space
			start, _ = trim(s.text, start, to)
		}
	}
	a.add(start, to)
}

// blank notes that white space stands between words.
func (s *htmlSections) blank(start, end int) {
	switch {
	case strings.IndexByte(s.text[start:end], '\n') >= 0:
		s.gap = "\n"
	case s.gap == "":
		s.gap = " "
	}
}

// addEntity adds the entity at a position and returns where it ends.
func (s *htmlSections) addEntity(a *assembly, at, end int) int {
	to := at + 1
	for to < end && (isLetter(s.text[to]) || '0' <= s.text[to] && s.text[to] <= '9' || s.text[to] == '#') {
		to++
	}
	if to < end && s.text[to] == ';' {
		to++
	}
	entity := s.text[at:to]
	switch decoded := html.UnescapeString(entity); {
	case decoded == entity:
		a.add(at, to)
	case a.len() > 0 || !isBlank(decoded):
		a.addDecoded(decoded, at, to)
	}
	return to
}

// beginTitle begins the header whose element was just opened.
func (s *htmlSections) beginTitle(selector *htmlSelector) {
	s.endTitle()
	s.header = htmlHeader{header: header{level: selector.level, key: selector.key}, xpath: s.tree.xpath(), container: -1}
	s.titled, s.headerAt = true, len(s.tree.open)-1
	s.gap, s.tail = "", span{}
}

// endTitle ends the open header, if there is one: what follows stands under it.
func (s *htmlSections) endTitle() {
	if !s.titled {
		return
	}
	s.titled, s.gap, s.tail = false, "", span{}
	h := s.header
	title := s.title.text()
	from, to := trim(title, 0, len(title))
	title = title[from:to]
	h.text = span{s.title.start, s.title.end}
	content := len(title) > maxHeaderTitle
	h.value = shortTitle(title)
	s.nameContainer(h.value)
	keep := s.keep(h.level)
	if s.joins && !content && s.body.visible && keep == len(s.path)-1 && s.path[keep].header == h.header {
		s.body.join("  \n")
	} else {
		s.flush()
		s.leave(keep)
		s.path = append(s.path, h)
		if content {
			s.body, s.title = s.title, s.body
			s.gap = " "
		}
	}
	s.title.reset()
}

// keep returns how many headers still enclose the place behind a new one of the
// level.
func (s *htmlSections) keep(level int) int {
	n := len(s.path)
	for n > 0 && s.path[n-1].container < 0 && s.path[n-1].level >= level {
		n--
	}
	return n
}

// leave takes all headers but the depth outermost ones off the path. The title
// of one that no chunk carries becomes a chunk. The body must be empty.
func (s *htmlSections) leave(depth int) {
	for len(s.path) > depth {
		if h := s.path[len(s.path)-1]; !h.used && h.container < 0 && h.value != "" {
			s.out.addText(h.value, h.text, s.fields())
		}
		s.path = s.path[:len(s.path)-1]
	}
}

// flush makes chunks of the body.
func (s *htmlSections) flush() {
	if s.body.visible {
		s.out.addAssembly(&s.body, s.fields())
	}
	s.body.reset()
	s.gap, s.tail, s.caption = "", span{}, -1
}

// fields returns the metadata below the path and notes that a chunk carries it.
func (s *htmlSections) fields() []field {
	if len(s.path) == 0 {
		return nil
	}
	fields := make([]field, 0, len(s.path)+1)
	if xpath := s.path[len(s.path)-1].xpath; xpath != "" {
		fields = append(fields, field{"xpath", xpath})
	}
	for i := range s.path {
		s.path[i].used = true
		fields = setField(fields, s.path[i].key, s.path[i].value)
	}
	return fields
}

// beginContainer begins the container whose element was just opened.
func (s *htmlSections) beginContainer(selector *htmlSelector) {
	s.endTitle()
	s.flush()
	s.leave(s.keep(selector.level))
	s.container = len(s.tree.open) - 1
	s.path = append(s.path, htmlHeader{
		header:    header{level: selector.level, key: selector.key},
		xpath:     s.tree.xpath(),
		container: s.container,
	})
}

func (s *htmlSections) endContainer() {
	s.flush()
	s.leave(s.innermost())
	s.container = -1
	if i := s.innermost(); i >= 0 {
		s.container = s.path[i].container
	}
}

// innermost returns the place of the innermost container in the path, -1 if
// there is none.
func (s *htmlSections) innermost() int {
	i := len(s.path) - 1
	for i >= 0 && s.path[i].container < 0 {
		i--
	}
	return i
}

// endCaption gives the heading that ends to the container that it stands in.
func (s *htmlSections) endCaption() {
	title := s.body.tail(s.from)
	from, to := trim(title, 0, len(title))
	s.nameContainer(shortTitle(title[from:to]))
	s.caption = -1
}

// nameContainer titles the innermost container, unless it has a title.
func (s *htmlSections) nameContainer(title string) {
	if i := s.innermost(); i >= 0 && s.path[i].value == "" {
		s.path[i].value = title
	}
}

func shortTitle(title string) string {
	if len(title) <= maxHeaderTitle {
		return title
	}
	to := maxHeaderTitle
	for !utf8.RuneStart(title[to]) {
		to--
	}
	return title[:to]
}
