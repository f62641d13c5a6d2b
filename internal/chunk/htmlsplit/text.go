package htmlsplit

import (
	"html"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// space separates the text before and after a tag by a space, unless the tag is
// inline.
func (s *splitter) space(name *tagName) {
	if s.gap == "" && !name.tag.is(inlineTag) {
		s.gap = " "
	}
}

// addText adds text[start:end] to the title or body and decodes entities if encoded is
// set. White space at its end is added only if more text follows.
func (s *splitter) addText(start, end int, encoded bool) {
	a := &s.body
	if s.titled {
		a = &s.title
	}
	from, to := textspan.Trim(s.text, start, end)
	switch {
	case from == to && s.verbatim < 0:
		s.blank(start, end)
		return
	case a.Len() == 0:
		start = from
	default:
		a.Add(s.tail.Start, s.tail.End)
		if s.gap != "" {
			a.Join(s.gap)
		}
	}
	if from == to {
		to = start
	}
	s.gap, s.tail = "", textspan.Span{Start: to, End: end}
	for encoded && start < to {
		i := strings.IndexByte(s.text[start:to], '&')
		if i < 0 {
			break
		}
		a.Add(start, start+i)
		start = s.addEntity(a, start+i, to)
		if a.Len() == 0 { // the entity was white space
			start, _ = textspan.Trim(s.text, start, to)
		}
	}
	a.Add(start, to)
}

// blank separates the text before and after white space by a line feed or space.
func (s *splitter) blank(start, end int) {
	switch {
	case strings.IndexByte(s.text[start:end], '\n') >= 0:
		s.gap = "\n"
	case s.gap == "":
		s.gap = " "
	}
}

// addEntity adds the entity at a position and returns its end.
func (s *splitter) addEntity(a *assembly.Text, at, end int) int {
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
		a.Add(at, to)
	case a.Len() > 0 || !textspan.IsBlank(decoded):
		a.AddDecoded(decoded, at, to)
	}
	return to
}
