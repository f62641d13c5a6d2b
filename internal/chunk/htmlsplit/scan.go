package htmlsplit

import "strings"

// scanner reads the tokens of an HTML text by the rules of the WHATWG
// standard (section 13.2.5), as far as they separate text from markup. It differs
// from a browser in broken documents of which a browser would lose the rest: a
// quote or an element of raw text that is never closed is ordinary text or markup.
//
// The tokenizer of golang.org/x/net/html, against which it is tested, keeps all
// attributes of a tag: a tag of 20 MB with different attributes takes 740 MB and 9
// seconds there. The scanner allocates almost nothing and reads every byte once.
type scanner struct {
	text string
	pos  int

	// The token that next found.
	kind        tokenKind
	start, end  int
	name        *tagName // of a tag
	selfClosing bool
	id, class   string // attributes of a start tag, as written in the source
	hasID       bool
	hasClass    bool

	names   tagNames
	raw     *tagName        // element whose content is raw text and comes next
	lastOf  [256]int        // last position of each quote and of '>', plus two; 0 if not searched yet
	unended map[string]bool // names of raw elements without an end tag in the rest of the text
}

type tokenKind uint8

const (
	endOfText tokenKind = iota // of the document
	textToken                  // entities are not decoded
	rawToken                   // text without entities
	startToken
	endToken
)

// next finds the next token. It skips comments, declarations and the content of
// hidden elements. At the end of the document kind is endOfText.
func (s *scanner) next() {
	if s.raw != nil {
		s.rawText()
		if s.start < s.end {
			return
		}
	}
	for from := s.pos; s.pos < len(s.text); {
		i := strings.IndexByte(s.text[s.pos:], '<')
		if i < 0 {
			s.pos = len(s.text)
			s.token(textToken, from, s.pos)
			return
		}
		at := s.pos + i
		if !s.isMarkup(at) {
			s.pos = at + 1
			if s.pos == len(s.text) {
				s.token(textToken, from, s.pos)
				return
			}
			continue
		}
		if at > from {
			s.pos = at
			s.token(textToken, from, at)
			return
		}
		if s.markup(at) {
			return
		}
		from = s.pos
	}
	s.token(endOfText, len(s.text), len(s.text))
}

func (s *scanner) token(kind tokenKind, start, end int) {
	s.kind, s.start, s.end = kind, start, end
}

// isMarkup reports whether the '<' at a position begins markup.
func (s *scanner) isMarkup(at int) bool {
	if at+1 == len(s.text) {
		return false
	}
	switch c := s.text[at+1]; {
	case isLetter(c):
		return s.last('>') > at
	case c == '/':
		return at+2 < len(s.text) && (!isLetter(s.text[at+2]) || s.last('>') > at)
	default:
		return c == '!' || c == '?'
	}
}

// markup reads the markup at a position and reports whether it is a token.
func (s *scanner) markup(at int) bool {
	switch c := s.text[at+1]; {
	case c == '/' && !isLetter(s.text[at+2]), c == '?':
		s.skipTo(at+2, ">")
		return false
	case c == '!' && strings.HasPrefix(s.text[at+2:], "--"):
		s.skipComment(at + 4)
		return false
	case c == '!':
		s.skipTo(at+2, ">")
		return false
	case c == '/':
		s.tagName(at + 2)
		s.attributes()
		s.token(endToken, at, s.pos)
	default:
		s.tagName(at + 1)
		s.attributes()
		s.token(startToken, at, s.pos)
		if s.name.tag.is(rawTag) && !s.selfClosing {
			s.raw = s.name
		}
	}
	// A tag that is cut off by the end of the document is not a token.
	return s.text[s.pos-1] == '>' || s.pos < len(s.text)
}

func (s *scanner) skipTo(from int, end string) {
	i := strings.Index(s.text[from:], end)
	if i < 0 {
		s.pos = len(s.text)
		return
	}
	s.pos = from + i + len(end)
}

// skipComment skips a comment whose content starts at a position.
func (s *scanner) skipComment(from int) {
	for _, empty := range []string{">", "->"} {
		if strings.HasPrefix(s.text[from:], empty) {
			s.pos = from + len(empty)
			return
		}
	}
	for {
		s.skipTo(from, "--")
		rest := s.text[s.pos:]
		switch {
		case rest == "":
			return
		case rest[0] == '>':
			s.pos++
			return
		case strings.HasPrefix(rest, "!>"):
			s.pos += 2
			return
		}
		from = s.pos - 1
	}
}

func (s *scanner) tagName(from int) {
	to := from
	upper := false
	for to < len(s.text) && !isTagSpace(s.text[to]) && s.text[to] != '/' && s.text[to] != '>' {
		upper = upper || 'A' <= s.text[to] && s.text[to] <= 'Z'
		to++
	}
	name := s.text[from:to]
	if upper {
		name = lowerASCII(name)
	}
	s.name, s.pos = s.names.get(name), to
}

// attributes reads the rest of a tag and keeps id and class.
func (s *scanner) attributes() {
	s.id, s.class, s.hasID, s.hasClass, s.selfClosing = "", "", false, false, false
	for {
		s.skipSpace()
		if s.pos == len(s.text) {
			return
		}
		switch s.text[s.pos] {
		case '>':
			s.pos++
			return
		case '/':
			s.pos++
			s.selfClosing = s.pos < len(s.text) && s.text[s.pos] == '>'
		default:
			s.attribute()
		}
	}
}

func (s *scanner) attribute() {
	from := s.pos
	s.pos++ // a name may start with '='
	for s.pos < len(s.text) && !isTagSpace(s.text[s.pos]) && s.text[s.pos] != '/' && s.text[s.pos] != '=' && s.text[s.pos] != '>' {
		s.pos++
	}
	name, value := s.text[from:s.pos], ""
	s.skipSpace()
	if s.pos < len(s.text) && s.text[s.pos] == '=' {
		s.pos++
		s.skipSpace()
		value = s.attributeValue()
	}
	switch { // the first attribute of a name counts
	case len(name) == 2 && !s.hasID && strings.EqualFold(name, "id"):
		s.id, s.hasID = value, true
	case len(name) == 5 && !s.hasClass && strings.EqualFold(name, "class"):
		s.class, s.hasClass = value, true
	}
}

func (s *scanner) attributeValue() string {
	if s.pos == len(s.text) {
		return ""
	}
	if q := s.text[s.pos]; (q == '"' || q == '\'') && s.last(q) > s.pos {
		from := s.pos + 1
		s.pos = from + strings.IndexByte(s.text[from:], q) + 1
		return s.text[from : s.pos-1]
	}
	from := s.pos
	for s.pos < len(s.text) && !isTagSpace(s.text[s.pos]) && s.text[s.pos] != '>' {
		s.pos++
	}
	return s.text[from:s.pos]
}

func (s *scanner) skipSpace() {
	for s.pos < len(s.text) && isTagSpace(s.text[s.pos]) {
		s.pos++
	}
}

// last returns the last position of a byte, -1 if there is none.
func (s *scanner) last(c byte) int {
	if s.lastOf[c] == 0 {
		s.lastOf[c] = strings.LastIndexByte(s.text, c) + 2
	}
	return s.lastOf[c] - 2
}

// isTag reports whether s starts with the tag name and a character that ends a name.
func isTag(s, name string) bool {
	if len(s) <= len(name) || !strings.EqualFold(s[:len(name)], name) {
		return false
	}
	c := s[len(name)]
	return isTagSpace(c) || c == '/' || c == '>'
}

func isTagSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// lowerASCII converts only A to Z to lower case, as HTML does for tag names.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
