package jsonsplit

import (
	"sort"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/blocks"
)

// document is a valid JSON text with an index of its longer containers, so that it can
// be read in any order quickly.
type document struct {
	text  string
	ascii bool // values are written in ASCII
	lists bool // arrays are written as objects with indexes for keys

	root       int                         // position of the value
	containers blocks.List[largeContainer] // the longer ones, in order of their start
	near       int                         // result of the last search in containers
	compact    bool                        // the source is already in the written form
	reorders   bool                        // some object is written in another order
}

// largeContainer is an array or object of more than smallContainer bytes. Shorter ones
// are not indexed, because reading them again is as fast.
type largeContainer struct {
	start, end uint32
	size       uint32 // as written, in UTF-16 units, at most maxContainer; the highest bit is reordered
}

const (
	smallContainer = 64
	maxContainer   = 1 << 30
	reordered      = 1 << 31
)

// newDocument parses a JSON text. The error is a fault.Invalid with the position of
// the first syntax error.
func newDocument(text string, ascii, lists bool) (*document, error) {
	x := &document{text: text, ascii: ascii, lists: lists, compact: true}
	p := parser{document: x}
	if strings.HasPrefix(text, "\ufeff") {
		p.pos = len("\ufeff")
	}
	if err := p.parse(); err != nil {
		return nil, err
	}
	return x, nil
}

// large returns the container that starts at a position, or nil if it is not large.
func (x *document) large(start int) *largeContainer {
	n := x.containers.Len()
	startOf := func(i int) int { return int(x.containers.At(i).start) }
	// Most searches end shortly after the last one.
	low, step := 0, n
	if x.near < n && startOf(x.near) <= start {
		for low, step = x.near, 1; low+step < n && startOf(low+step) <= start; step *= 2 {
			low += step
		}
	}
	x.near = low + sort.Search(min(step, n-low), func(i int) bool { return startOf(low+i) >= start })
	if x.near < n && startOf(x.near) == start {
		return x.containers.At(x.near)
	}
	return nil
}

// valueEnd returns the position after the value that starts at a position.
func (x *document) valueEnd(start int) int {
	switch x.text[start] {
	case '"':
		return stringEnd(x.text, start)
	case '{', '[':
		if c := x.large(start); c != nil {
			return int(c.end)
		}
		depth := 0
		for pos := start; ; pos++ {
			switch x.text[pos] {
			case '"':
				pos = stringEnd(x.text, pos) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return pos + 1
				}
			}
		}
	}
	pos := start
	for pos < len(x.text) && !isSpace(x.text[pos]) && strings.IndexByte(",]}", x.text[pos]) < 0 {
		pos++
	}
	return pos
}

func (x *document) skipSpace(pos int) int {
	for pos < len(x.text) && isSpace(x.text[pos]) {
		pos++
	}
	return pos
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
