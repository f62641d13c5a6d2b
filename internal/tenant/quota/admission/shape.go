package admission

import (
	"fmt"
	"reflect"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Shape says how much memory the decoded form of a message takes, and how many entries
// its lists may have. Safe for concurrent use.
type Shape struct {
	bytes  int64 // of the message itself, without what its fields point to
	number map[protoreflect.FieldNumber]*field
	name   map[string]*field // by JSON name and by name in the proto file
	free   bool              // google.protobuf.Struct, Value or ListValue: any JSON
}

// field says what one value of a field takes.
type field struct {
	name    string // in JSON
	bytes   int64  // of one value besides its text and its message
	kind    protoreflect.Kind
	message *Shape // of a field that holds messages
	list    bool
	entries bool // a map
	index   int  // of the field among those of its message that are lists or maps
	max     int  // entries; 0 for no limit
}

func (f *field) isText() bool {
	return f.kind == protoreflect.StringKind || f.kind == protoreflect.BytesKind
}

// maxLists is the number of lists of a message whose entries are counted.
const maxLists = 8

// counts counts the entries of a message's lists.
type counts [maxLists]int

// add counts an entry and reports whether it is the first. Errors: Invalid for an entry too
// many.
func (c *counts) add(f *field) (first bool, err error) {
	if !f.list && !f.entries {
		return false, nil
	}
	c[f.index]++
	if f.max > 0 && c[f.index] > f.max {
		return false, fault.Field(f.name, "must have at most %d entries, got more: divide the request", f.max)
	}
	return c[f.index] == 1, nil
}

// Sizes of what the decoder allocates, in bytes, on a machine of 64 bits.
const (
	pointerBytes = 16 // in a slice that grows by doubling
	textBytes    = 16 // header of a string, or the rounding of its size
	// entryBytes is the average of a map's entry besides key and value.
	entryBytes = 48
	// mapBytes is a map with its first group of entries.
	mapBytes = 256
)

// Shapes returns the shapes of messages by their full names. maxima limits the entries of
// lists by the full name of the field.
func Shapes(maxima map[protoreflect.FullName]int, messages ...protoreflect.MessageDescriptor) map[protoreflect.FullName]*Shape {
	all := map[protoreflect.FullName]*Shape{}
	for _, m := range messages {
		shapeOf(m, maxima, all)
	}
	return all
}

func shapeOf(m protoreflect.MessageDescriptor, maxima map[protoreflect.FullName]int, all map[protoreflect.FullName]*Shape) *Shape {
	if s := all[m.FullName()]; s != nil {
		return s
	}
	s := &Shape{
		bytes: sizeOf(m), number: map[protoreflect.FieldNumber]*field{}, name: map[string]*field{},
		free: m.FullName() == "google.protobuf.Struct" || m.FullName() == "google.protobuf.Value" || m.FullName() == "google.protobuf.ListValue",
	}
	all[m.FullName()] = s
	lists := 0
	for i := range m.Fields().Len() {
		d := m.Fields().Get(i)
		f := &field{name: d.JSONName(), kind: d.Kind(), list: d.IsList(), entries: d.IsMap(), max: maxima[d.FullName()], bytes: fieldBytes(d)}
		if d.Message() != nil {
			f.message = shapeOf(d.Message(), maxima, all)
		}
		if f.list || f.entries {
			f.index = min(lists, maxLists-1)
			lists++
		}
		s.number[d.Number()] = f
		s.name[d.JSONName()], s.name[d.TextName()] = f, f
	}
	return s
}

// sizeOf returns the size of a message's struct.
func sizeOf(m protoreflect.MessageDescriptor) int64 {
	if m.IsMapEntry() {
		return entryBytes
	}
	made, err := protoregistry.GlobalTypes.FindMessageByName(m.FullName())
	if err != nil { // no generated type, which happens only in tests
		return 64
	}
	return allocated(int64(reflect.TypeOf(made.Zero().Interface()).Elem().Size()))
}

// allocated returns what the allocator takes for so many bytes: its sizes are 16 bytes apart up to 256, and
// further apart from there on.
func allocated(size int64) int64 {
	apart := int64(16)
	for from := int64(256); size > from && apart < 128; from += 256 {
		apart *= 2
	}
	return (size + apart - 1) / apart * apart
}

// fieldBytes returns what one value of a field takes outside its message's struct, besides
// its text and its message.
func fieldBytes(d protoreflect.FieldDescriptor) int64 {
	var bytes int64
	switch {
	case d.IsMap():
		return 0 // counted in the entry's message
	case d.IsList() && (d.Kind() == protoreflect.StringKind || d.Kind() == protoreflect.BytesKind):
		bytes = 2*pointerBytes + textBytes
	case d.IsList() && d.Message() != nil:
		bytes = pointerBytes
	case d.IsList():
		bytes = 2 * scalarBytes(d.Kind())
	case d.Kind() == protoreflect.StringKind || d.Kind() == protoreflect.BytesKind:
		bytes = textBytes
	}
	if d.ContainingOneof() != nil { // a wrapper, or a pointer to the value
		bytes += textBytes
	}
	return bytes
}

func scalarBytes(kind protoreflect.Kind) int64 {
	switch kind {
	case protoreflect.BoolKind:
		return 1
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind,
		protoreflect.Sfixed32Kind, protoreflect.FloatKind, protoreflect.EnumKind:
		return 4
	}
	return 8
}

// maxUnsaid limits a list of a tool's arguments whose schema says no maxItems.
const maxUnsaid = 100_000

// SchemaShape returns the shape of a JSON object that has a JSON schema, with the maxItems
// of its lists. It follows properties and items; what they do not describe is any JSON.
func SchemaShape(schema map[string]any) *Shape {
	s := &Shape{name: map[string]*field{}}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		described, _ := property.(map[string]any)
		f := &field{name: name, kind: protoreflect.StringKind}
		inner := described
		if described["type"] == "array" {
			f.list, f.index = true, min(len(s.name), maxLists-1)
			f.max = maxItems(described)
			inner, _ = described["items"].(map[string]any)
		}
		if inner["properties"] != nil {
			f.message = SchemaShape(inner)
		} else if !f.list && (inner["type"] == "object" || inner["type"] == nil) {
			f.message = &Shape{free: true}
		}
		s.name[name] = f
	}
	return s
}

func maxItems(schema map[string]any) int {
	n, err := strconv.Atoi(fmt.Sprint(schema["maxItems"]))
	if err != nil {
		return maxUnsaid
	}
	return n
}
