package htmlsplit

import (
	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/chunk/outline"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// heading is a header or container that encloses a position.
type heading struct {
	outline.Heading
	xpath     string
	text      textspan.Span // bounds of the title in the source
	used      bool          // the title is in the metadata of a section
	container int           // depth of the container in the tree; -1 for a header
}

// beginTitle starts to collect the title of the header whose element was just opened.
func (s *splitter) beginTitle(selector *Selector) {
	s.endTitle()
	s.header = heading{Heading: outline.Heading{Level: selector.level, Key: selector.key}, xpath: s.tree.xpath(), container: -1}
	s.titled, s.headerAt = true, len(s.tree.open)-1
	s.gap, s.tail = "", textspan.Span{}
}

// endTitle ends the title of the open header, if there is one, and adds the header to
// the path.
func (s *splitter) endTitle() {
	if !s.titled {
		return
	}
	s.titled, s.gap, s.tail = false, "", textspan.Span{}
	h := s.header
	title := s.title.Tail(0)
	from, to := textspan.Trim(title, 0, len(title))
	title = title[from:to]
	h.text = s.title.Span()
	content := len(title) > outline.MaxTitle
	h.Title = textlimit.Cut(title, outline.MaxTitle)
	s.nameContainer(h.Title)
	keep := s.keep(h.Level)
	if s.joins && !content && s.body.Visible() && keep == len(s.path)-1 && s.path[keep].Heading == h.Heading {
		s.body.Join(assembly.ParagraphJoin)
	} else {
		s.flush()
		s.leave(keep)
		s.path = append(s.path, h)
		if content {
			s.body, s.title = s.title, s.body
			s.gap = " "
		}
	}
	s.title.Reset()
}

// keep returns how many entries of the path enclose a new header of the level.
func (s *splitter) keep(level int) int {
	n := len(s.path)
	for n > 0 && s.path[n-1].container < 0 && s.path[n-1].Level >= level {
		n--
	}
	return n
}

// leave removes all but the depth outermost entries from the path. It emits the title
// of a header that is in no section yet. The body must be empty.
func (s *splitter) leave(depth int) {
	for len(s.path) > depth {
		if h := s.path[len(s.path)-1]; !h.used && h.container < 0 && h.Title != "" {
			s.emit(Section{Title: h.Title, Source: h.text, Fields: s.fields()})
		}
		s.path = s.path[:len(s.path)-1]
	}
}

// flush emits the body, unless it is blank, and empties it.
func (s *splitter) flush() {
	if s.body.Visible() {
		s.emit(Section{Body: &s.body, Fields: s.fields()})
	}
	s.body.Reset()
	s.gap, s.tail, s.caption = "", textspan.Span{}, -1
}

// fields returns the metadata of a section under the path and marks the titles of the
// path as used.
func (s *splitter) fields() []outline.Field {
	if len(s.path) == 0 {
		return nil
	}
	fields := make([]outline.Field, 0, len(s.path)+1)
	if xpath := s.path[len(s.path)-1].xpath; xpath != "" {
		fields = append(fields, outline.Field{Key: "xpath", Value: xpath})
	}
	for i := range s.path {
		s.path[i].used = true
		fields = outline.Set(fields, s.path[i].Key, s.path[i].Title)
	}
	return fields
}

// beginContainer adds the container whose element was just opened to the path.
func (s *splitter) beginContainer(selector *Selector) {
	s.endTitle()
	s.flush()
	s.leave(s.keep(selector.level))
	s.container = len(s.tree.open) - 1
	s.path = append(s.path, heading{
		Heading:   outline.Heading{Level: selector.level, Key: selector.key},
		xpath:     s.tree.xpath(),
		container: s.container,
	})
}

func (s *splitter) endContainer() {
	s.flush()
	s.leave(s.innermost())
	s.container = -1
	if i := s.innermost(); i >= 0 {
		s.container = s.path[i].container
	}
}

// innermost returns the index of the innermost container in the path, or -1.
func (s *splitter) innermost() int {
	i := len(s.path) - 1
	for i >= 0 && s.path[i].container < 0 {
		i--
	}
	return i
}

// beginCaption stores the start of a heading that may title a container.
func (s *splitter) beginCaption(e element) {
	if e.tag.is(headingTag) && s.container >= 0 && s.caption < 0 {
		s.caption, s.from = len(s.tree.open)-1, s.body.Len()
	}
}

// endCaption titles the container with the heading that ends.
func (s *splitter) endCaption() {
	title := s.body.Tail(s.from)
	from, to := textspan.Trim(title, 0, len(title))
	s.nameContainer(textlimit.Cut(title[from:to], outline.MaxTitle))
	s.caption = -1
}

// nameContainer sets the title of the innermost container, unless it has one.
func (s *splitter) nameContainer(title string) {
	if i := s.innermost(); i >= 0 && s.path[i].Title == "" {
		s.path[i].Title = title
	}
}
