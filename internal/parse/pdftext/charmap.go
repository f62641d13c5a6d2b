package pdftext

import (
	"sort"
)

// maxMapEntries bounds the entries of one character map.
const maxMapEntries = 1 << 18

// charMap is a ToUnicode character map (ISO 32000-1, 9.10.3). It maps the codes of a
// font to text.
type charMap struct {
	spaces []codeSpace
	single map[codeKey]string
	ranges []codeRange // sorted by first
}

type codeKey struct {
	length, code int
}

type codeSpace struct {
	length, first, last int
}

// codeRange maps the code first to text. For each further code up to last, the last
// character of text is one code point higher.
type codeRange struct {
	length, first, last int
	text                string
}

func readCharMap(data []byte) *charMap {
	m := &charMap{single: map[codeKey]string{}}
	s := scanner{data: data}
	for t := s.next(); t.kind != atEnd; t = s.next() {
		if t.kind != operator {
			continue
		}
		switch string(t.bytes) {
		case "begincodespacerange":
			m.readSpaces(&s)
		case "beginbfchar":
			m.readChars(&s)
		case "beginbfrange":
			m.readRanges(&s)
		}
	}
	sort.SliceStable(m.ranges, func(i, j int) bool { return m.ranges[i].first < m.ranges[j].first })
	return m
}

func codeOf(raw []byte) int {
	code := 0
	for _, c := range raw[:min(len(raw), 4)] {
		code = code<<8 | int(c)
	}
	return code
}

func (m *charMap) full() bool { return len(m.single)+len(m.ranges) >= maxMapEntries }

func (m *charMap) readSpaces(s *scanner) {
	for {
		first := s.next()
		if first.kind != str || len(first.bytes) == 0 || len(m.spaces) >= 256 {
			return
		}
		space := codeSpace{length: min(len(first.bytes), 4), first: codeOf(first.bytes)}
		last := s.next()
		if last.kind != str {
			return
		}
		space.last = codeOf(last.bytes)
		m.spaces = append(m.spaces, space)
	}
}

func (m *charMap) readChars(s *scanner) {
	for !m.full() {
		from := s.next()
		if from.kind != str {
			return
		}
		key := codeKey{len(from.bytes), codeOf(from.bytes)}
		to := s.next()
		if to.kind != str {
			return
		}
		m.single[key] = utf16Text(to.bytes)
	}
}

func (m *charMap) readRanges(s *scanner) {
	for !m.full() {
		from := s.next()
		if from.kind != str {
			return
		}
		r := codeRange{length: len(from.bytes), first: codeOf(from.bytes)}
		to := s.next()
		if to.kind != str {
			return
		}
		r.last = codeOf(to.bytes)
		switch target := s.next(); target.kind {
		case str:
			r.text = utf16Text(target.bytes)
			m.ranges = append(m.ranges, r)
		case open:
			for code := r.first; !m.full(); code++ {
				t := s.next()
				if t.kind != str {
					break
				}
				m.single[codeKey{r.length, code}] = utf16Text(t.bytes)
			}
		default:
			return
		}
	}
}

// codeLength returns the number of bytes of the first code of raw, or 0 if no range of
// the map contains it.
func (m *charMap) codeLength(raw string) int {
	code := 0
	for n := 1; n <= min(4, len(raw)); n++ {
		code = code<<8 | int(raw[n-1])
		for _, space := range m.spaces {
			if space.length == n && code >= space.first && code <= space.last {
				return n
			}
		}
	}
	return 0
}

func (m *charMap) text(length, code int) (string, bool) {
	if t, ok := m.single[codeKey{length, code}]; ok {
		return t, true
	}
	// The last range that begins at or before the code. Ranges are assumed not to
	// overlap.
	i := sort.Search(len(m.ranges), func(i int) bool { return m.ranges[i].first > code }) - 1
	if i < 0 || m.ranges[i].length != length || code > m.ranges[i].last || m.ranges[i].text == "" {
		return "", false
	}
	runes := []rune(m.ranges[i].text)
	runes[len(runes)-1] += rune(code - m.ranges[i].first)
	return string(runes), true
}
