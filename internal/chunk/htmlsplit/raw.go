package htmlsplit

import "strings"

// rawText reads up to the end tag of the raw element. Without an end tag, script,
// style and plaintext extend to the end of the document; the content of other
// elements is read as ordinary markup.
func (s *scanner) rawText() {
	name := s.raw
	s.raw = nil
	s.token(endOfText, s.pos, s.pos)
	end := len(s.text)
	switch name.text {
	case "plaintext":
	case "script":
		end = s.scriptEnd()
	default:
		i := s.rawEnd(name.text)
		if i < 0 && name.text != "style" {
			return
		}
		if i >= 0 {
			end = i
		}
	}
	switch {
	case name.tag.is(hiddenTag):
	case name.tag.is(entityTag):
		s.token(textToken, s.pos, end)
	default:
		s.token(rawToken, s.pos, end)
	}
	s.pos = end
}

// rawEnd returns the position of the end tag of a raw element, or -1.
func (s *scanner) rawEnd(name string) int {
	if s.unended[name] {
		return -1
	}
	for at := s.pos; ; at++ {
		i := strings.Index(s.text[at:], "</")
		if i < 0 {
			if s.unended == nil {
				s.unended = map[string]bool{}
			}
			s.unended[name] = true
			return -1
		}
		at += i
		if isTag(s.text[at+2:], name) {
			return at
		}
	}
}

// scriptEnd returns the position of the end tag of a script, or the end of the text. In
// a comment in the script, <script> opens a nested script.
func (s *scanner) scriptEnd() int {
	comment, nested := false, false
	for at := s.pos; ; at++ {
		i := strings.IndexByte(s.text[at:], '<')
		if i < 0 {
			return len(s.text)
		}
		if comment && strings.Contains(s.text[at:at+i], "-->") {
			comment, nested = false, false
		}
		at += i
		rest := s.text[at+1:]
		switch {
		case strings.HasPrefix(rest, "/") && isTag(rest[1:], "script"):
			if !nested {
				return at
			}
			nested = false
		case !comment && strings.HasPrefix(rest, "!--"):
			comment = true
		case comment && isTag(rest, "script"):
			nested = true
		}
	}
}
