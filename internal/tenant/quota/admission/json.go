package admission

import (
	"bytes"
	"encoding/json"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// costs says what values without a type take in memory, in bytes.
type costs struct {
	empty  int64 // an object or list without entries
	object int64 // one with entries, besides them
	member int64 // besides its name and value
	value  int64 // a number, a text besides its bytes, or true
}

var (
	// structCosts are those of google.protobuf.Struct.
	structCosts = costs{empty: 208, object: 416, member: 48, value: 96}
	// treeCosts are those of map[string]any and []any with numbers as texts.
	treeCosts = costs{empty: 80, object: 352, member: 48, value: 40}
)

// WeighJSON returns the memory that a message in JSON takes once it is decoded by
// protojson, in bytes. It reads the message once, without building anything. Errors:
// Invalid for a list with too many entries.
func (s *Shape) WeighJSON(data []byte) (int64, error) {
	scan := scanner{data: data, costs: structCosts}
	return scan.run(&field{message: s})
}

// WeighJSON returns the memory that a JSON text takes once it is decoded into maps and
// slices, in bytes.
func WeighJSON(data []byte) int64 {
	scan := scanner{data: data, costs: treeCosts}
	total, _ := scan.run(nil) // fails only for lists with a limit
	return total
}

// scanner weighs a JSON text. It is more lenient than the decoders, so whatever they
// decode has been weighed.
type scanner struct {
	data  []byte
	costs costs
	at    int
	total int64
	stack []frame
}

// frame is an object or a list that has not ended.
type frame struct {
	of     *field // what it is the value of; nil for untyped JSON
	object bool
	used   bool // has entries
	// key is the member of an object that follows; expectsKey says that its name does.
	key        *field
	expectsKey bool
	seen       counts
}

func (s *scanner) run(root *field) (int64, error) {
	for ; s.at < len(s.data); s.at++ {
		var err error
		switch c := s.data[s.at]; c {
		case '{', '[':
			err = s.open(root, c == '{')
		case '}', ']':
			if len(s.stack) > 0 {
				s.stack = s.stack[:len(s.stack)-1]
			}
		case '"':
			err = s.text(root)
		case ',':
			if top := s.top(); top != nil {
				top.expectsKey = top.object
			}
		case ':', ' ', '\n', '\r', '\t':
		default:
			err = s.scalar(root)
		}
		if err != nil {
			return s.total, s.under(err)
		}
		if len(s.stack) > maxDepth {
			break
		}
	}
	return s.total, nil
}

func (s *scanner) top() *frame {
	if len(s.stack) == 0 {
		return nil
	}
	return &s.stack[len(s.stack)-1]
}

// under adds the names of the enclosing fields to an error about the innermost.
func (s *scanner) under(err error) error {
	for i := len(s.stack) - 1; i > 0; i-- {
		if of := s.stack[i].of; of != nil && s.stack[i].object {
			err = fault.Under(of.name, err)
		}
	}
	return err
}

// value begins a value and returns the field that it belongs to, nil for untyped JSON.
func (s *scanner) value(root *field) (*field, error) {
	top := s.top()
	if top == nil {
		return root, nil
	}
	of := top.of
	if top.object {
		if of = top.key; of != nil && (of.list || of.entries) && !of.untyped() {
			return of, nil // its entries are counted, not the list
		}
	} else if of != nil {
		if _, err := top.seen.add(of); err != nil {
			return nil, err
		}
	}
	if of == nil && !top.used {
		s.total += s.costs.object - s.costs.empty
	}
	top.used = true
	return of, nil
}

// open begins an object or a list.
func (s *scanner) open(root *field, object bool) error {
	of, err := s.value(root)
	if err != nil {
		return err
	}
	inner := of
	switch {
	case of.untyped():
		s.total += s.costs.empty
		inner = nil
	case object && of.message != nil:
		s.total += of.bytes + of.message.bytes
	}
	s.stack = append(s.stack, frame{of: inner, object: object, expectsKey: object})
	return nil
}

// untyped reports whether the values of a field are decoded as any JSON.
func (f *field) untyped() bool { return f == nil || f.message != nil && f.message.free }

// scalar passes a number, true, false or null.
func (s *scanner) scalar(root *field) error {
	of, err := s.value(root)
	if err != nil {
		return err
	}
	if of.untyped() {
		s.total += s.costs.value
	} else {
		s.total += of.bytes
	}
	for s.at+1 < len(s.data) && !endsScalar(s.data[s.at+1]) {
		s.at++
	}
	return nil
}

func endsScalar(c byte) bool {
	switch c {
	case '{', '}', '[', ']', '"', ',', ':', ' ', '\n', '\r', '\t':
		return true
	}
	return false
}

// text passes a string, which may be the name of a member.
func (s *scanner) text(root *field) error {
	begin := s.at
	end := begin + textEnd(s.data[begin:])
	s.at = end - 1
	if top := s.top(); top != nil && top.expectsKey {
		top.expectsKey = false
		s.member(top, s.data[begin:end])
		return nil
	}
	of, err := s.value(root)
	if err != nil {
		return err
	}
	if of.untyped() {
		s.total += s.costs.value
	} else {
		s.total += of.bytes
	}
	s.total += int64(end - begin)
	return nil
}

// textEnd returns the length of the string at the start of data, with its quotes.
func textEnd(data []byte) int {
	for at := 1; ; {
		next := bytes.IndexByte(data[at:], '"')
		if next < 0 {
			return len(data)
		}
		slashes := at + next
		for slashes > at && data[slashes-1] == '\\' {
			slashes--
		}
		quote := at + next
		if at = quote + 1; (quote-slashes)%2 == 0 {
			return at
		}
	}
}

// member begins a member of an object. name is quoted.
func (s *scanner) member(of *frame, name []byte) {
	of.key = nil
	if of.of == nil {
		s.total += s.costs.member + int64(len(name))
		return
	}
	if message := of.of.message; message != nil {
		if bytes.IndexByte(name, '\\') >= 0 {
			var plain string
			if json.Unmarshal(name, &plain) == nil {
				of.key = message.name[plain]
			}
		} else if len(name) >= 2 {
			of.key = message.name[string(name[1:len(name)-1])]
		}
	}
}
