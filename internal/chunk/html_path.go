package chunk

import "github.com/ragdhq/ragd/internal/textlimit"

// htmlHeader is a header or container that encloses a place.
type htmlHeader struct {
	header
	xpath     string
	text      span // of the title, in the source
	used      bool // a chunk carries the title
	container int  // its depth in the tree; -1 if it is none
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
	title := s.title.tail(0)
	from, to := trim(title, 0, len(title))
	title = title[from:to]
	h.text = span{s.title.start, s.title.end}
	content := len(title) > maxHeaderTitle
	h.value = textlimit.Cut(title, maxHeaderTitle)
	s.nameContainer(h.value)
	keep := s.keep(h.level)
	if s.joins && !content && s.body.visible && keep == len(s.path)-1 && s.path[keep].header == h.header {
		s.body.join(paragraphJoin)
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

// beginCaption notes where a heading starts that may name a container.
func (s *htmlSections) beginCaption(e htmlElement) {
	if e.tag.is(headingTag) && s.container >= 0 && s.caption < 0 {
		s.caption, s.from = len(s.tree.open)-1, s.body.len()
	}
}

// endCaption gives the heading that ends to the container that it stands in.
func (s *htmlSections) endCaption() {
	title := s.body.tail(s.from)
	from, to := trim(title, 0, len(title))
	s.nameContainer(textlimit.Cut(title[from:to], maxHeaderTitle))
	s.caption = -1
}

// nameContainer titles the innermost container, unless it has a title.
func (s *htmlSections) nameContainer(title string) {
	if i := s.innermost(); i >= 0 && s.path[i].value == "" {
		s.path[i].value = title
	}
}
