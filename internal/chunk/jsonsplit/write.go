package jsonsplit

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// entry is a member of a container.
type entry struct {
	key        int // position of the key; -1 in an array
	index      int // in an array, from 0
	value, end int // bounds of the value
}

// start returns the position of the entry in the source.
func (e *entry) start() int {
	if e.key >= 0 {
		return e.key
	}
	return e.value
}

// iterator iterates over the members of a container in the order in which they
// are written: the order of the source, except that keys that are array indexes come
// first, in the order of their number, as in JavaScript.
type iterator struct {
	x       *document
	object  bool
	pos     int // end of the last entry
	n       int
	ordered []orderedKey // the remaining keys, if the order differs from the source
}

// orderedKey has the array index of a key in the upper and its position in the lower 32
// bits, so that keys sort in the order in which they are written.
type orderedKey uint64

func (x *document) entries(container int) iterator {
	it := iterator{x: x, object: x.text[container] == '{', pos: container + 1}
	if !x.reorders || !it.object {
		return it
	}
	if c := x.large(container); c != nil && c.size&reordered == 0 {
		return it
	}
	var keys []orderedKey
	for e, ok := it.next(); ok; e, ok = it.next() {
		index, ok := indexKey(x.keyContent(e.key))
		if !ok {
			index = math.MaxUint32
		}
		keys = append(keys, orderedKey(index)<<32|orderedKey(e.key))
	}
	slices.Sort(keys)
	it.ordered = keys
	return it
}

func (it *iterator) next() (e entry, ok bool) {
	if it.object && it.ordered != nil {
		if len(it.ordered) == 0 {
			return e, false
		}
		e = it.x.member(int(uint32(it.ordered[0])))
		it.ordered = it.ordered[1:]
		return e, true
	}
	pos := it.x.skipSpace(it.pos)
	switch it.x.text[pos] {
	case ']', '}':
		return e, false
	case ',':
		pos = it.x.skipSpace(pos + 1)
	}
	if it.object {
		e = it.x.member(pos)
	} else {
		e = entry{key: -1, index: it.n, value: pos, end: it.x.valueEnd(pos)}
	}
	it.pos = e.end
	it.n++
	return e, true
}

// member returns the entry of an object whose key is at a position.
func (x *document) member(key int) entry {
	colon := x.skipSpace(stringEnd(x.text, key))
	value := x.skipSpace(colon + 1)
	return entry{key: key, value: value, end: x.valueEnd(value)}
}

// keyContent returns the text between the quotes of a key.
func (x *document) keyContent(key int) string {
	return x.text[key+1 : stringEnd(x.text, key)-1]
}

// appendKey appends the key of an entry and a colon. Keys are never written in
// ASCII.
func (x *document) appendKey(dst []byte, e *entry) []byte {
	dst = append(dst, '"')
	if e.key < 0 {
		dst = strconv.AppendInt(dst, int64(e.index), 10)
	} else {
		dst = appendString(dst, x.keyContent(e.key), false)
	}
	return append(dst, `":`...)
}

// appendValue appends the written form of the value text[start:end].
func (x *document) appendValue(dst []byte, start, end int) []byte {
	c := x.text[start]
	switch {
	case x.compact && !x.lists && !x.reorders:
		return append(dst, x.text[start:end]...)
	case c != '{' && c != '[' || !x.lists && !x.reorders:
		return x.appendTokens(dst, start, end)
	case c == '[' && !x.lists:
		return x.appendMembers(dst, start, '[', ']')
	}
	return x.appendMembers(dst, start, '{', '}')
}

func (x *document) appendMembers(dst []byte, start int, opening, closing byte) []byte {
	dst = append(dst, opening)
	first := true
	it := x.entries(start)
	for e, ok := it.next(); ok; e, ok = it.next() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if opening == '{' {
			dst = x.appendKey(dst, &e)
		}
		dst = x.appendValue(dst, e.value, e.end)
	}
	return append(dst, closing)
}

// appendTokens appends the tokens of text[start:end] without the space between
// them.
func (x *document) appendTokens(dst []byte, start, end int) []byte {
	for pos := start; pos < end; {
		switch c := x.text[pos]; {
		case c == '"':
			to := stringEnd(x.text, pos)
			dst = append(dst, '"')
			dst = appendString(dst, x.text[pos+1:to-1], x.ascii && !x.isKey(to, end))
			dst = append(dst, '"')
			pos = to
		case isSpace(c):
			pos++
		default:
			to := pos + 1
			for to < end && x.text[to] > ' ' && x.text[to] != '"' {
				to++
			}
			dst = append(dst, x.text[pos:to]...)
			pos = to
		}
	}
	return dst
}

// isKey reports whether the string that ends at a position is a key.
func (x *document) isKey(pos, end int) bool {
	pos = x.skipSpace(pos)
	return pos < end && x.text[pos] == ':'
}

// empty reports whether a value is a container without members.
func (x *document) empty(start int) bool {
	return strings.IndexByte("{[", x.text[start]) >= 0 && strings.IndexByte("}]", x.text[x.skipSpace(start+1)]) >= 0
}
