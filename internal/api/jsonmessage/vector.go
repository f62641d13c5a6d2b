package jsonmessage

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// floatBytes is the size of a 32-bit floating-point number.
const floatBytes = 4

// Vector returns the numbers of a JSON text that stands for a vector: a list of at most most numbers, their 32-bit floats in
// little-endian order as base64, or a string with a list. It returns false for others.
func Vector(raw []byte, most int) ([]float32, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return Floats(raw, most)
	}
	content := raw[1 : len(raw)-1]
	if len(content) > 0 && content[0] == '[' {
		return Floats(content, most)
	}
	packed := make([]byte, base64.StdEncoding.DecodedLen(len(content)))
	n, err := base64.StdEncoding.Decode(packed, content)
	if err != nil || n%floatBytes != 0 || n/floatBytes > most || bytes.ContainsAny(content, "\r\n") {
		return nil, false
	}
	values := make([]float32, n/floatBytes)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(packed[floatBytes*i:]))
	}
	return values, true
}

// checkVector returns what is wrong with a string that should be a vector.
func checkVector(raw json.RawMessage, path string) error {
	const want = "a list of numbers, or base64 of their 32-bit floats in little-endian order"
	packed, err := base64.StdEncoding.DecodeString(textOf(raw))
	if err != nil {
		return wrong(path, want, raw)
	}
	return wrong(path, fmt.Sprintf("%s, 4 bytes each: %d bytes are no multiple of 4", want, len(packed)), raw)
}

// MergeVector appends numbers to a field of a message that is a list of 32-bit floats: in its binary form, which is decoded much
// faster than a list is built by reflection.
func MergeVector(into proto.Message, field protoreflect.FieldDescriptor, values []float32) error {
	packed := protowire.AppendTag(make([]byte, 0, floatBytes*len(values)+16), field.Number(), protowire.BytesType)
	packed = protowire.AppendVarint(packed, uint64(floatBytes*len(values)))
	for _, value := range values {
		packed = protowire.AppendFixed32(packed, math.Float32bits(value))
	}
	if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(packed, into); err != nil {
		return fmt.Errorf("read %s: %w", field.JSONName(), err)
	}
	return nil
}

// step leads from a message to one in it.
type step struct {
	field protoreflect.FieldDescriptor
	index int // in a list
}

// detached is a vector that was taken out of a JSON text.
type detached struct {
	path   []step
	field  protoreflect.FieldDescriptor
	values []float32
}

// merge adds the vector to the message that was read from the rest of the text.
func (d detached) merge(message protoreflect.Message) error {
	for _, s := range d.path {
		if s.field.IsList() {
			message = message.Get(s.field).List().Get(s.index).Message()
		} else {
			message = message.Mutable(s.field).Message()
		}
	}
	return MergeVector(message.Interface(), d.field, d.values)
}

// detacher takes the vectors out of a JSON text: decoding a number by reflection takes much longer than reading it.
type detacher struct {
	scanner
	rest   []byte
	copied int // bytes of the text that are in rest, or left out
	path   []step
	found  []detached
}

// detach returns the JSON text of a message without its vectors, for each of which it has an empty list, and the vectors. It leaves
// everything that may be a mistake where it is.
func detach(data []byte, message protoreflect.MessageDescriptor) ([]byte, []detached) {
	if !hasVectors(message) {
		return data, nil
	}
	d := detacher{scanner: scanner{data: data}}
	d.space()
	whole := d.message(message, 1)
	if d.space(); !whole || d.at != len(data) || len(d.found) == 0 {
		return data, nil
	}
	return append(d.rest, data[d.copied:]...), d.found
}

// message reads an object that stands for a message. It returns false also for names with escapes.
func (d *detacher) message(of protoreflect.MessageDescriptor, level int) bool {
	if level > maxNested || !d.take('{') {
		return false
	}
	if d.space(); d.take('}') {
		return true
	}
	for {
		d.space()
		from := d.at
		if escaped, ok := d.text(); !ok || escaped {
			return false
		}
		name := d.data[from+1 : d.at-1]
		if d.space(); !d.take(':') {
			return false
		}
		d.space()
		if !d.field(fieldOf(of, string(name)), level) {
			return false
		}
		if d.space(); !d.take(',') {
			return d.take('}')
		}
	}
}

// field reads the value of a field, nil for one that is not known.
func (d *detacher) field(field protoreflect.FieldDescriptor, level int) bool {
	begin := d.at
	switch {
	case field == nil || field.IsMap() || begin == len(d.data):
	case isVector(field):
		if !d.value(level) {
			return false
		}
		if values, ok := Vector(d.data[begin:d.at], math.MaxInt); ok {
			d.rest = append(append(d.rest, d.data[d.copied:begin]...), "[]"...)
			d.copied = d.at
			d.found = append(d.found, detached{append([]step(nil), d.path...), field, values})
		}
		return true
	case field.Message() == nil || !hasVectors(field.Message()):
	case field.IsList() && d.data[begin] == '[':
		return d.messages(field, level+1)
	case !field.IsList() && d.data[begin] == '{':
		return d.within(step{field: field}, func() bool { return d.message(field.Message(), level+1) })
	}
	return d.value(level)
}

// messages reads a list of messages.
func (d *detacher) messages(field protoreflect.FieldDescriptor, level int) bool {
	d.take('[')
	if d.space(); d.take(']') {
		return true
	}
	for index := 0; ; index++ {
		d.space()
		ok := d.at < len(d.data)
		if ok && d.data[d.at] == '{' {
			ok = d.within(step{field, index}, func() bool { return d.message(field.Message(), level+1) })
		} else if ok {
			ok = d.value(level)
		}
		if !ok {
			return false
		}
		if d.space(); !d.take(',') {
			return d.take(']')
		}
	}
}

func (d *detacher) within(s step, read func() bool) bool {
	d.path = append(d.path, s)
	ok := read()
	d.path = d.path[:len(d.path)-1]
	return ok
}

func isVector(field protoreflect.FieldDescriptor) bool {
	return field.IsList() && field.Kind() == protoreflect.FloatKind
}

// withVectors says of messages, by their names, whether they have a vector.
var withVectors sync.Map

// hasVectors reports whether a message, or one in it, has a field that is a list of 32-bit floats.
func hasVectors(message protoreflect.MessageDescriptor) bool {
	if known, ok := withVectors.Load(message.FullName()); ok {
		return known == true
	}
	has := findsVector(message, map[protoreflect.FullName]bool{})
	withVectors.Store(message.FullName(), has)
	return has
}

func findsVector(message protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[message.FullName()] {
		return false
	}
	seen[message.FullName()] = true
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		if isVector(field) || field.Message() != nil && findsVector(field.Message(), seen) {
			return true
		}
	}
	return false
}
