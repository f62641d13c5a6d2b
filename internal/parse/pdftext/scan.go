package pdftext

import (
	"bytes"
	"strconv"
)

// kind of a token of a content stream or a character map.
type kind uint8

const (
	atEnd kind = iota
	number
	str  // a string, decoded
	name // without its slash
	operator
	open // [ or <<
	shut // ] or >>
)

// token is a piece of a content stream. bytes are shared with the stream, or with
// the scanner until the next call.
type token struct {
	kind  kind
	value float64
	bytes []byte
}

// scanner splits a content stream (ISO 32000-1, 7.2 and 7.8.2) into tokens. It never
// fails: invalid bytes are skipped.
type scanner struct {
	data []byte
	pos  int
	buf  []byte // of the last string
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func (s *scanner) next() token {
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		switch {
		case isSpace(c), c == '{', c == '}', c == ')':
			s.pos++
		case c == '%':
			s.skipLine()
		case c == '(':
			s.pos++
			return token{kind: str, bytes: s.literal()}
		case c == '/':
			s.pos++
			return token{kind: name, bytes: unescapeName(s.regular())}
		case c == '[':
			s.pos++
			return token{kind: open}
		case c == ']':
			s.pos++
			return token{kind: shut}
		case c == '<' || c == '>':
			return s.angle(c)
		default:
			return classify(s.regular())
		}
	}
	return token{}
}

// angle reads a token that begins with < or >: the start or end of a dictionary, or a
// hexadecimal string.
func (s *scanner) angle(c byte) token {
	s.pos++
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		if c == '<' {
			return token{kind: open}
		}
		return token{kind: shut}
	}
	if c == '>' {
		return s.next()
	}
	return token{kind: str, bytes: s.hex()}
}

func (s *scanner) skipLine() {
	for s.pos < len(s.data) && s.data[s.pos] != '\n' && s.data[s.pos] != '\r' {
		s.pos++
	}
}

// regular reads up to the next white space or delimiter.
func (s *scanner) regular() []byte {
	start := s.pos
	for s.pos < len(s.data) && !isSpace(s.data[s.pos]) && !isDelimiter(s.data[s.pos]) {
		s.pos++
	}
	return s.data[start:s.pos]
}

func classify(word []byte) token {
	if c := word[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if v, err := strconv.ParseFloat(string(word), 64); err == nil {
			return token{kind: number, value: v}
		}
	}
	return token{kind: operator, bytes: word}
}

func unescapeName(raw []byte) []byte {
	if bytes.IndexByte(raw, '#') < 0 {
		return raw
	}
	var out []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] == '#' && i+2 < len(raw) {
			if high, low := hexValue(raw[i+1]), hexValue(raw[i+2]); high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low))
				i += 2
				continue
			}
		}
		out = append(out, raw[i])
	}
	return out
}

// literal reads a string up to its closing parenthesis.
func (s *scanner) literal() []byte {
	s.buf = s.buf[:0]
	for depth := 1; s.pos < len(s.data); {
		c := s.data[s.pos]
		s.pos++
		switch c {
		case '\\':
			s.escape()
			continue
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return s.buf
			}
		}
		s.buf = append(s.buf, c)
	}
	return s.buf
}

// escape reads the escape sequence after a backslash.
func (s *scanner) escape() {
	if s.pos >= len(s.data) {
		return
	}
	c := s.data[s.pos]
	s.pos++
	switch c {
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case '\n':
		return
	case '\r':
		if s.pos < len(s.data) && s.data[s.pos] == '\n' {
			s.pos++
		}
		return
	case '0', '1', '2', '3', '4', '5', '6', '7':
		v := int(c - '0')
		for i := 0; i < 2 && s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '7'; i++ {
			v = v<<3 | int(s.data[s.pos]-'0')
			s.pos++
		}
		c = byte(v)
	}
	s.buf = append(s.buf, c)
}

func (s *scanner) hex() []byte {
	s.buf = s.buf[:0]
	half := -1
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		s.pos++
		if c == '>' {
			break
		}
		v := hexValue(c)
		switch {
		case v < 0:
		case half < 0:
			half = v
		default:
			s.buf = append(s.buf, byte(half<<4|v))
			half = -1
		}
	}
	if half >= 0 {
		s.buf = append(s.buf, byte(half<<4))
	}
	return s.buf
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// skipImage skips an inline image after its BI, up to and including EI.
func (s *scanner) skipImage() {
	for from := s.pos; ; {
		at := bytes.Index(s.data[from:], []byte("EI"))
		if at < 0 {
			s.pos = len(s.data)
			return
		}
		at += from
		from = at + 2
		if at > 0 && isSpace(s.data[at-1]) && (from == len(s.data) || isSpace(s.data[from])) {
			s.pos = from
			return
		}
	}
}
