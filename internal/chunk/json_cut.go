package chunk

import "unicode/utf8"

// longestEscape is the length of a surrogate pair in ASCII.
const longestEscape = len(`\ud83d\ude00`)

// splitString makes a chunk of each part of a string, an entry of n, that is too
// long for one.
func (s *jsonSplitter) splitString(n *jsonNode, e *jsonEntry) {
	s.flush(&s.group)
	content := s.text[e.value+1 : e.end-1]
	written := content
	if !s.compact {
		written = string(appendString(nil, content, s.ascii))
	}
	room := s.max - n.size - s.keySize(n, e) - len(`""`)
	if room < longestEscape { // the keys leave no place: keep parts of a usable length
		room = max(s.max, longestEscape)
	} else if s.max > 2*partMargin {
		room = min(room, s.max-partMargin)
	}
	cut := stringCutter{text: written, room: room}
	pos := e.value + 1
	for first := true; cut.from < len(written) && s.out.err == nil; first = false {
		part := cut.next()
		end := pos + len(part)
		if !s.compact {
			end = s.sameRunes(pos, part)
		}
		s.scratch = append(append(append(s.scratch[:0], '"'), part...), '"')
		s.add(&s.group, n, e, s.scratch)
		s.group.start, s.group.end, s.group.part = pos, end, !first
		s.flush(&s.group)
		pos = end
	}
}

// partMargin is how much shorter than maxSize the parts of a string are, as in
// the reference data, if that leaves enough.
const partMargin = 20

// sameRunes returns where the code points of written, counted from a position in
// a string of the source, end there.
func (s *jsonSplitter) sameRunes(pos int, written string) int {
	for written != "" {
		_, n := jsonRune(written)
		written = written[n:]
		_, n = jsonRune(s.text[pos:])
		pos += n
	}
	return pos
}

// stringCutter cuts the content of a JSON string into parts of at most room
// units.
type stringCutter struct {
	text string
	room int
	from int // of the next part
}

// next returns the next part. It ends behind the last space that leaves
// something before it, or else between characters.
func (c *stringCutter) next() string {
	start, end := c.from, len(c.text)
	if window := 4 * (c.room + 1); end-start > window { // more than room units
		end = start + window
		for !utf8.RuneStart(c.text[end]) {
			end--
		}
	}
	src := source{text: c.text, ascii: isASCII(c.text[start:end])}
	walk := newCutter(&src, start, end, c.room)
	to, size, space := start, 0, 0
	for to < walk.end {
		next := c.whole(walk)
		if size += units(c.text[to:next]); size > c.room && to > start {
			break
		}
		if c.text[next-1] == ' ' {
			space = next
		}
		to = next
	}
	if space > 0 && to < len(c.text) {
		to = space
	}
	c.from = to
	return c.text[start:to]
}

// whole returns the end of the next character; an escape, or two for one
// code point, is one.
func (c *stringCutter) whole(walk *cutter) int {
	at := walk.pos
	if c.text[at] != '\\' {
		return walk.next()
	}
	_, n := jsonRune(c.text[at:])
	for walk.pos < min(at+n, walk.end) {
		walk.next()
	}
	return max(walk.pos, at+n)
}
