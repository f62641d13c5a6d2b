package htmlsplit

import (
	"html"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// space notes that a tag stands between words, unless it stands within a line.
func (s *splitter) space(name *tagName) {
	if s.gap == "" && !name.tag.is(inlineTag) {
		s.gap = " "
	}
}

// addText adds the text of a token, whose entities are still to be decoded. The
// white space at its end waits for the next text.
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
		if a.Len() == 0 { // it was white space
			start, _ = textspan.Trim(s.text, start, to)
		}
	}
	a.Add(start, to)
}

// blank notes that white space stands between words.
func (s *splitter) blank(start, end int) {
	switch {
	case strings.IndexByte(s.text[start:end], '\n') >= 0:
		s.gap = "\n"
	case s.gap == "":
		s.gap = " "
	}
}

// addEntity adds the entity at a position and returns where it ends.
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
