package rpc

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// objectReader converts the JSON objects of one answer to messages. Metadata is most of
// an answer, so each text is scanned once, the strings of the messages share its memory,
// and their values are allocated in blocks. It is not safe for concurrent use.
//
// The result equals that of encoding/json followed by structpb.NewStruct. Input that is
// not valid JSON may be accepted; PostgreSQL does not write any.
type objectReader struct {
	values  []structpb.Value
	numbers []structpb.Value_NumberValue
	texts   []structpb.Value_StringValue
	width   int // field count of the last object, the likely count of the next

	text string
	pos  int // position in text of the next byte
}

var errNoObject = errors.New("this is not the JSON of one object")

// read parses text, which must hold one JSON object.
func (r *objectReader) read(text string) (*structpb.Struct, error) {
	r.text, r.pos = text, 0
	if r.next() != '{' {
		return nil, errNoObject
	}
	object, err := r.object()
	if err == nil && r.next() != 0 {
		err = errNoObject
	}
	if err != nil {
		return nil, err
	}
	r.width = len(object.Fields)
	return object, nil
}

// next skips white space and returns the byte after it without consuming it, or 0 at the
// end.
func (r *objectReader) next() byte {
	for ; r.pos < len(r.text); r.pos++ {
		switch c := r.text[r.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take consumes the next byte if it is c, and reports whether it was.
func (r *objectReader) take(c byte) bool {
	if r.next() != c {
		return false
	}
	r.pos++
	return true
}

// object parses the object at the current position.
func (r *objectReader) object() (*structpb.Struct, error) {
	r.pos++
	fields := make(map[string]*structpb.Value, r.width)
	for n := 0; !r.take('}'); n++ {
		if n > 0 && !r.take(',') || r.next() != '"' {
			return nil, errNoObject
		}
		key, err := r.string()
		if err != nil {
			return nil, err
		}
		if !r.take(':') {
			return nil, errNoObject
		}
		if fields[key], err = r.value(); err != nil {
			return nil, err
		}
	}
	return &structpb.Struct{Fields: fields}, nil
}

// list parses the list at the current position.
func (r *objectReader) list() (*structpb.ListValue, error) {
	r.pos++
	var values []*structpb.Value
	for n := 0; !r.take(']'); n++ {
		if n > 0 && !r.take(',') {
			return nil, errNoObject
		}
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return &structpb.ListValue{Values: values}, nil
}

func (r *objectReader) value() (*structpb.Value, error) {
	value := alloc(&r.values)
	switch c := r.next(); {
	case c == '"':
		text, err := r.string()
		if err != nil {
			return nil, err
		}
		kind := alloc(&r.texts)
		kind.StringValue = text
		value.Kind = kind
	case c == '{':
		object, err := r.object()
		if err != nil {
			return nil, err
		}
		value.Kind = &structpb.Value_StructValue{StructValue: object}
	case c == '[':
		list, err := r.list()
		if err != nil {
			return nil, err
		}
		value.Kind = &structpb.Value_ListValue{ListValue: list}
	case r.literal("null"):
		value.Kind = &structpb.Value_NullValue{}
	case r.literal("true"):
		value.Kind = &structpb.Value_BoolValue{BoolValue: true}
	case r.literal("false"):
		value.Kind = &structpb.Value_BoolValue{}
	default:
		number, err := r.number()
		if err != nil {
			return nil, err
		}
		kind := alloc(&r.numbers)
		kind.NumberValue = number
		value.Kind = kind
	}
	return value, nil
}

func (r *objectReader) literal(text string) bool {
	if !strings.HasPrefix(r.text[r.pos:], text) {
		return false
	}
	r.pos += len(text)
	return true
}

func (r *objectReader) number() (float64, error) {
	length := strings.IndexFunc(r.text[r.pos:], func(c rune) bool {
		return (c < '0' || c > '9') && !strings.ContainsRune("+-.eE", c)
	})
	if length <= 0 { // a number is always followed by ',' '}' or ']'
		return 0, errNoObject
	}
	number, err := strconv.ParseFloat(r.text[r.pos:r.pos+length], 64)
	r.pos += length
	return number, err
}

// string parses the string at the current position. Without escapes the result shares the
// memory of the text.
func (r *objectReader) string() (string, error) {
	start, escaped := r.pos, false
	for r.pos++; r.pos < len(r.text); r.pos++ {
		switch r.text[r.pos] {
		case '\\':
			escaped = true
			r.pos++
		case '"':
			r.pos++
			if !escaped {
				return r.text[start+1 : r.pos-1], nil
			}
			var text string
			err := json.Unmarshal([]byte(r.text[start:r.pos]), &text)
			return text, err
		}
	}
	return "", errNoObject
}

// alloc returns a zero element of block, which it replaces when it is used up.
func alloc[T any](block *[]T) *T {
	const blockLength = 64
	if len(*block) == cap(*block) {
		*block = make([]T, 0, blockLength)
	}
	*block = (*block)[:len(*block)+1]
	return &(*block)[len(*block)-1]
}
