package jsonsplit

import (
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// maxDepth limits the nesting of arrays and objects, as in encoding/json.
const maxDepth = 10_000

// parser validates a JSON text and builds its index.
type parser struct {
	*document
	pos  int
	open []frame
}

// frame is an open container.
type frame struct {
	object bool
	record int // index in containers
	size   int // so far, brackets included
	n      int // members so far

	reordered bool
	named     bool // has a key that is not an array index
	lastIndex uint32
}

func (p *parser) parse() error {
	if p.space(); p.pos == len(p.text) {
		return p.fail("a value is missing")
	}
	p.root = p.pos
	for {
		size, opened, err := p.value()
		if err != nil {
			return err
		}
		for !opened {
			if len(p.open) == 0 {
				if p.space(); p.pos < len(p.text) {
					return p.fail("text after the end of the value")
				}
				return nil
			}
			p.open[len(p.open)-1].size += size
			more, err := p.more()
			if err != nil {
				return err
			}
			if more {
				break
			}
			size = p.close()
		}
	}
}

// value reads a scalar or an empty container and returns its size, or opens a
// container and moves to its first value.
func (p *parser) value() (size int, opened bool, err error) {
	if p.pos == len(p.text) {
		return 0, false, p.fail("the text ends where a value should be")
	}
	switch c := p.text[p.pos]; {
	case c == '"':
		size, err = p.string(p.ascii)
		return size, false, err
	case c == '{' || c == '[':
		return p.container()
	case c == '-' || '0' <= c && c <= '9':
		size = p.number()
	default:
		for _, literal := range []string{"true", "false", "null"} {
			if strings.HasPrefix(p.text[p.pos:], literal) {
				size = len(literal)
			}
		}
	}
	if size == 0 {
		return 0, false, p.fail("not a value")
	}
	p.pos += size
	return size, false, nil
}

func (p *parser) container() (size int, opened bool, err error) {
	if len(p.open) == maxDepth {
		return 0, false, fault.Field("text", "arrays and objects are nested more than %d deep (at offset %d)", maxDepth, p.pos)
	}
	object := p.text[p.pos] == '{'
	p.open = append(p.open, frame{object: object, record: p.containers.Len(), size: 2})
	p.containers.Push(largeContainer{start: uint32(p.pos)})
	p.pos++
	p.space()
	if p.pos < len(p.text) && p.text[p.pos] == p.closer() {
		return p.close(), false, nil
	}
	return 0, true, p.member()
}

func (p *parser) closer() byte {
	if p.open[len(p.open)-1].object {
		return '}'
	}
	return ']'
}

// close reads the closing bracket of the innermost container and returns the
// container's size.
func (p *parser) close() int {
	f := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	p.pos++
	c := p.containers.At(f.record)
	if f.reordered {
		p.reorders = true
	}
	if p.pos-int(c.start) <= smallContainer { // the containers in it are small too
		p.containers.Truncate(f.record)
		return f.size
	}
	c.end, c.size = uint32(p.pos), uint32(min(f.size, maxContainer))
	if f.reordered {
		c.size |= reordered
	}
	return f.size
}

// more moves to the next value of the innermost container and returns true, or to its
// closing bracket and returns false.
func (p *parser) more() (bool, error) {
	p.space()
	switch {
	case p.pos < len(p.text) && p.text[p.pos] == ',':
		p.pos++
		p.space()
		p.open[len(p.open)-1].size++
		return true, p.member()
	case p.pos < len(p.text) && p.text[p.pos] == p.closer():
		return false, nil
	}
	return false, p.fail("a comma or %q is missing", p.closer())
}

// member moves to the value of the member at the position.
func (p *parser) member() error {
	f := &p.open[len(p.open)-1]
	f.n++
	if !f.object {
		if p.lists {
			f.size += len(`"":`) + len(strconv.Itoa(f.n-1))
		}
		return nil
	}
	if p.pos == len(p.text) || p.text[p.pos] != '"' {
		return p.fail("a key is missing")
	}
	start := p.pos
	size, err := p.string(false)
	if err != nil {
		return err
	}
	f.size += size + len(":")
	f.key(p.text[start+1 : p.pos-1])
	p.space()
	if p.pos == len(p.text) || p.text[p.pos] != ':' {
		return p.fail("a colon is missing")
	}
	p.pos++
	p.space()
	return nil
}

// key sets reordered if a key is written in another order.
func (f *frame) key(content string) {
	i, ok := indexKey(content)
	switch {
	case !ok:
		f.named = true
	case f.named || f.n > 1 && i < f.lastIndex:
		f.reordered = true
	}
	f.lastIndex = max(f.lastIndex, i)
}

// indexKey reads a key as written in the source, with escapes, as an array index.
func indexKey(content string) (uint32, bool) {
	if strings.IndexByte(content, '\\') >= 0 {
		content = string(appendString(nil, content, false))
	}
	return arrayIndex(content)
}

// string reads a string and returns its size as written.
func (p *parser) string(ascii bool) (int, error) {
	size := len(`""`)
	for p.pos++; ; {
		n := plainPrefix(p.text[p.pos:])
		size += n
		p.pos += n
		if p.pos == len(p.text) {
			return 0, p.fail("a string is not closed")
		}
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return size, nil
		case c < ' ':
			return 0, p.fail("a control character in a string")
		}
		r, n := readRune(p.text[p.pos:])
		if n == 0 {
			return 0, p.fail("not an escape")
		}
		size += runeSize(r, ascii)
		if p.compact {
			var buf [12]byte
			p.compact = string(appendRune(buf[:0], r, ascii)) == p.text[p.pos:p.pos+n]
		}
		p.pos += n
	}
}

// number returns the length of the number at the position, 0 if there is none.
func (p *parser) number() int {
	s := p.text[p.pos:]
	i := 0
	if s[0] == '-' {
		i++
	}
	whole := digitRun(s[i:])
	if whole == 0 || whole > 1 && s[i] == '0' {
		return 0
	}
	i += whole
	if i < len(s) && s[i] == '.' {
		fraction := digitRun(s[i+1:])
		if fraction == 0 {
			return 0
		}
		i += 1 + fraction
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		exponent := digitRun(s[i:])
		if exponent == 0 {
			return 0
		}
		i += exponent
	}
	return i
}

func digitRun(s string) int {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}

func (p *parser) space() {
	to := p.skipSpace(p.pos)
	if to > p.pos && len(p.open) > 0 {
		p.compact = false
	}
	p.pos = to
}

func (p *parser) fail(format string, args ...any) error {
	return fault.Field("text", "is not valid JSON (at offset %d): "+format, append([]any{p.pos}, args...)...)
}
