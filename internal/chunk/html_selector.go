package chunk

import (
	"strings"

	"github.com/ragdhq/ragd/internal/fault"
)

// DefaultHTMLHeaders are the headings that split an HTML document whose owner
// named none; each is stored under its own name. Not to be changed.
var DefaultHTMLHeaders = []HeaderKey{
	{"h1", "h1"}, {"h2", "h2"}, {"h3", "h3"}, {"h4", "h4"}, {"h5", "h5"}, {"h6", "h6"},
}

const selectorForms = `"tag", ".class", "#id" and combinations such as "div.part"`

// htmlSelector picks elements by tag, id and classes, as "h2", ".title",
// "div.part.open" and "#intro" do.
type htmlSelector struct {
	tag     string // lower case; "" or "*" is any
	id      string
	classes []string
	key     string
	level   int
}

// parseSelectors reads the selectors of the option field. Headings rank by their
// number; other selectors rank right below the heading listed before them, in
// the order of the list.
func parseSelectors(field string, pairs []HeaderKey) ([]htmlSelector, error) {
	selectors := make([]htmlSelector, len(pairs))
	level := 0
	for i, p := range pairs {
		s, ok := parseSelector(p.Marker)
		if !ok {
			return nil, fault.Field(field, "%q is not a selector of the forms %s", p.Marker, selectorForms)
		}
		level++
		if htmlTags[s.tag].is(headingTag) {
			level = int(s.tag[1]-'0') * (maxListItems + 1)
		}
		s.key, s.level = p.Key, level
		selectors[i] = s
	}
	return selectors, nil
}

func parseSelector(text string) (htmlSelector, bool) {
	var s htmlSelector
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

// matches reports whether the selector picks the element of a start tag.
func (s *htmlSelector) matches(name, id, class string) bool {
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

// hasClass reports whether a class attribute names a class.
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
