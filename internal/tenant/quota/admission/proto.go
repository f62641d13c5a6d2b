package admission

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// maxDepth is a depth that the decoders reject before they reach it: they stop at 10,000.
const maxDepth = 20_000

// WeighProto returns the memory that a message in protobuf takes once it is decoded, in
// bytes. It does not allocate. Of a malformed message it returns the weight of what comes
// before the mistake, which is all that gets decoded. Errors: Invalid for a list with too
// many entries.
func (s *Shape) WeighProto(data []byte) (int64, error) { return s.weighProto(data, 0) }

func (s *Shape) weighProto(data []byte, depth int) (int64, error) {
	total := s.bytes
	if depth > maxDepth {
		return total, nil
	}
	var seen counts
	for len(data) > 0 {
		number, wire, n := protowire.ConsumeTag(data)
		if n < 0 {
			return total, nil
		}
		size := protowire.ConsumeFieldValue(number, wire, data[n:])
		if size < 0 {
			return total, nil
		}
		value := data[n : n+size]
		data = data[n+size:]
		f := s.number[number]
		if f == nil {
			total += 2 * int64(n+size) // kept as an unknown field
			continue
		}
		first, err := seen.add(f)
		if err != nil {
			return total, err
		}
		if first && f.entries {
			total += mapBytes
		}
		bytes, err := f.weighProto(wire, value, depth)
		if total += bytes; err != nil {
			return total, fault.Under(f.name, err)
		}
	}
	return total, nil
}

// weighProto returns the memory of one value on the wire.
func (f *field) weighProto(wire protowire.Type, value []byte, depth int) (int64, error) {
	text, n := protowire.ConsumeBytes(value)
	switch {
	case wire == protowire.BytesType && n < 0:
		return f.bytes, nil
	case wire == protowire.BytesType && f.message != nil:
		bytes, err := f.message.weighProto(text, depth+1)
		return f.bytes + bytes, err
	case wire == protowire.BytesType && f.list && !f.isText(): // packed
		return f.bytes * packed(f.kind, text), nil
	}
	// A text, a scalar, or a value of the wrong type, which is kept as an unknown field.
	return f.bytes + 2*int64(len(value)), nil
}

// packed returns the number of values in a packed list.
func packed(kind protoreflect.Kind, data []byte) int64 {
	switch kind {
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return int64(len(data) / 4)
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return int64(len(data) / 8)
	}
	var n int64
	for _, b := range data {
		if b < 0x80 { // the last byte of a number
			n++
		}
	}
	return n
}
