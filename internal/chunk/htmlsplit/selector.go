package htmlsplit

import (
	"slices"
	"strings"
)

// SelectorForms describes the supported selectors in error messages.
const SelectorForms = `"tag", ".class", "#id" and combinations such as "div.part"`

// maxSelectors separates the levels of two ranks of headings. A list of selectors is
// shorter.
const maxSelectors = 101

// Selector matches elements by tag, id and classes, such as "h2", ".title",
// "div.part.open" or "#intro".
type Selector struct {
	tag     string // in lower case; "" matches any
	id      string
	classes []string
	key     string
	level   int
}

// rank returns a copy of the selectors with levels. Headings rank by their number;
// other selectors rank right below the heading listed before them, in the order of
// the list.
func rank(selectors []Selector) []Selector {
	ranked := slices.Clone(selectors)
	level := 0
	for i := range ranked {
		level++
		if tag := ranked[i].tag; traits[tag].is(headingTag) {
			level = int(tag[1]-'0') * maxSelectors
		}
		ranked[i].level = level
	}
	return ranked
}

// ParseSelector reads a selector; titles of the elements it matches are stored under
// the key. It reports false if the text has none of the SelectorForms.
func ParseSelector(text, key string) (Selector, bool) {
	s := Selector{key: key}
	rest := strings.Trim(text, " \t\r\n\f")
	end := func() int {
		if i := strings.IndexAny(rest, ".#"); i >= 0 {
			return i
		}
		return len(rest)
	}
	if strings.ContainsAny(rest, " \t\r\n\f>+~,:[]()\"'") {
		return s, false
	}
	n := end()
	s.tag, rest = lowerASCII(rest[:n]), rest[n:]
	for rest != "" {
		kind := rest[0]
		rest = rest[1:]
		n := end()
		name := rest[:n]
		rest = rest[n:]
		switch {
		case name == "" || kind == '#' && s.id != "":
			return s, false
		case kind == '#':
			s.id = name
		default:
			s.classes = append(s.classes, name)
		}
	}
	if s.tag == "*" {
		s.tag = ""
	}
	return s, s.tag != "" || s.id != "" || len(s.classes) > 0
}

// matches reports whether the selector matches a start tag with the name, id and
// class attribute.
func (s *Selector) matches(name, id, class string) bool {
	if s.tag != "" && s.tag != name || s.id != "" && s.id != id {
		return false
	}
	for _, c := range s.classes {
		if !hasClass(class, c) {
			return false
		}
	}
	return true
}

// hasClass reports whether a class attribute contains the class.
func hasClass(attribute, class string) bool {
	for from := 0; ; from++ {
		i := strings.Index(attribute[from:], class)
		if i < 0 {
			return false
		}
		from += i
		to := from + len(class)
		if (from == 0 || isTagSpace(attribute[from-1])) && (to == len(attribute) || isTagSpace(attribute[to])) {
			return true
		}
	}
}
