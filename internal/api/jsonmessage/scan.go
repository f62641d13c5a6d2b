package jsonmessage

import (
	"bytes"
	"strconv"
)

// Members calls each for the members of a JSON object, in order, until it returns false.
// name is without quotes; begin and end are the range of the value in data, without white
// space around it. Members checks the syntax of all of data and reports whether it is one
// object; a caller must not use what it was called with otherwise. It also reports false
// for objects that need more care: with escapes in names, or nested deeper than maxNested.
func Members(data []byte, each func(name []byte, begin, end int) bool) bool {
	return NestedMembers(data, 1, func(_ int, name []byte, begin, end int) bool { return each(name, begin, end) })
}

// NestedMembers is Members also for the members of objects that are members, down to levels
// levels, of which the outermost is 1. It calls each for the members of a value before the
// value itself.
func NestedMembers(data []byte, levels int, each func(level int, name []byte, begin, end int) bool) bool {
	s := scanner{data: data, levels: levels, each: each}
	s.space()
	if !s.object(1) {
		return false
	}
	s.space()
	return s.at == len(data)
}

// Floats returns the numbers of a JSON list, or false if the text is not a list of at most
// most numbers that fit into 32 bits.
func Floats(list []byte, most int) ([]float32, bool) {
	if len(list) < 2 || list[0] != '[' || list[len(list)-1] != ']' {
		return nil, false
	}
	commas := bytes.Count(list, []byte{','})
	if commas >= most {
		return nil, false
	}
	s, numbers := scanner{data: list, at: 1}, make([]float32, 0, commas+1)
	for s.space(); ; s.space() {
		begin := s.at
		if !s.number() {
			return nil, false
		}
		x, err := strconv.ParseFloat(string(list[begin:s.at]), 32)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, float32(x))
		s.space()
		if !s.take(',') {
			break
		}
	}
	return numbers, s.take(']') && s.at == len(list)
}

// maxNested limits the depth of what Members accepts.
const maxNested = 100

// scanner reads JSON (RFC 8259) strictly.
type scanner struct {
	data []byte
	at   int // of the next byte
	// each is called for the members of objects down to levels.
	levels int
	each   func(level int, name []byte, begin, end int) bool
}

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\n', '\r', '\t':
			s.at++
		default:
			return
		}
	}
}

// take consumes the next byte if it is c, and reports whether it was.
func (s *scanner) take(c byte) bool {
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

// object reads an object at the level.
func (s *scanner) object(level int) bool {
	if level > maxNested || !s.take('{') {
		return false
	}
	if s.space(); s.take('}') {
		return true
	}
	reports := level <= s.levels
	for {
		s.space()
		from := s.at
		escaped, ok := s.text()
		if !ok || escaped && reports {
			return false
		}
		name := s.data[from+1 : s.at-1]
		if s.space(); !s.take(':') {
			return false
		}
		s.space()
		begin := s.at
		if !s.value(level) || reports && !s.each(level, name, begin, s.at) {
			return false
		}
		if s.space(); !s.take(',') {
			return s.take('}')
		}
	}
}

// list reads a list at the level. The objects in it are below all levels that are reported.
func (s *scanner) list(level int) bool {
	if level > maxNested || !s.take('[') {
		return false
	}
	if s.space(); s.take(']') {
		return true
	}
	for {
		if s.space(); !s.value(max(level, s.levels)) {
			return false
		}
		if s.space(); !s.take(',') {
			return s.take(']')
		}
	}
}

// value reads a value that is in an object or a list at the level.
func (s *scanner) value(level int) bool {
	if s.at == len(s.data) {
		return false
	}
	switch s.data[s.at] {
	case '{':
		return s.object(level + 1)
	case '[':
		return s.list(level + 1)
	case '"':
		_, ok := s.text()
		return ok
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

func (s *scanner) literal(text string) bool {
	if !bytes.HasPrefix(s.data[s.at:], []byte(text)) {
		return false
	}
	s.at += len(text)
	return true
}

// text reads a string and reports whether it has escapes.
func (s *scanner) text() (escaped, ok bool) {
	if !s.take('"') {
		return false, false
	}
	for s.at < len(s.data) {
		c := s.data[s.at]
		s.at++
		switch {
		case c == '"':
			return escaped, true
		case c < ' ':
			return escaped, false
		case c != '\\':
			continue
		}
		if escaped = true; !s.escape() {
			return escaped, false
		}
	}
	return escaped, false
}

// escape reads what follows a backslash.
func (s *scanner) escape() bool {
	const hexDigits = 4
	if s.at == len(s.data) {
		return false
	}
	c := s.data[s.at]
	s.at++
	if c != 'u' {
		return bytes.IndexByte([]byte(`"\/bfnrt`), c) >= 0
	}
	for range hexDigits {
		if s.at == len(s.data) || !isHex(s.data[s.at]) {
			return false
		}
		s.at++
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) number() bool {
	data, at := s.data, s.at
	if at < len(data) && data[at] == '-' {
		at++
	}
	if at < len(data) && data[at] == '0' {
		at++
	} else if begin := at; digits(data, &at) == begin {
		return false
	}
	if at < len(data) && data[at] == '.' {
		at++
		if begin := at; digits(data, &at) == begin {
			return false
		}
	}
	if at < len(data) && data[at]|' ' == 'e' {
		if at++; at < len(data) && (data[at] == '+' || data[at] == '-') {
			at++
		}
		if begin := at; digits(data, &at) == begin {
			return false
		}
	}
	s.at = at
	return true
}

// digits moves at past digits and returns it.
func digits(data []byte, at *int) int {
	n := *at
	for n < len(data) && data[n]-'0' <= 9 {
		n++
	}
	*at = n
	return n
}
