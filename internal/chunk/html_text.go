package chunk

import (
	"html"
	"strings"
)

// space notes that a tag stands between words, unless it stands within a line.
func (s *htmlSections) space(name *htmlName) {
	if s.gap == "" && !name.tag.is(inlineTag) {
		s.gap = " "
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
