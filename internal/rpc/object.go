package rpc

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// objectReader makes messages of the JSON objects of one answer, as PostgreSQL
// writes them. Metadata is most of what an answer is made of, so each text is read
// once, the messages' strings are parts of it, and their values come in blocks.
//
// What it makes equals what encoding/json and structpb.NewStruct make together.
// It is more lenient in what is no JSON: PostgreSQL does not write that.
type objectReader struct {
	values  []structpb.Value
	numbers []structpb.Value_NumberValue
	texts   []structpb.Value_StringValue
	width   int // members of the last object, which the next one most likely has too

	text string
	at   int // the next byte of text
}

var errNoObject = errors.New("this is not the JSON of one object")

// read returns the object whose JSON text is.
func (r *objectReader) read(text string) (*structpb.Struct, error) {
	r.text, r.at = text, 0
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

// next skips white space and returns the byte that follows, which is still to be
// read; 0 at the end.
func (r *objectReader) next() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take reads the byte if it follows.
func (r *objectReader) take(c byte) bool {
	if r.next() != c {
		return false
	}
	r.at++
	return true
}

// object reads an object that begins here.
func (r *objectReader) object() (*structpb.Struct, error) {
	r.at++
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

// list reads a list that begins here.
func (r *objectReader) list() (*structpb.ListValue, error) {
	r.at++
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
	value := one(&r.values)
	switch c := r.next(); {
	case c == '"':
		text, err := r.string()
		if err != nil {
			return nil, err
		}
		kind := one(&r.texts)
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
	case r.word("null"):
		value.Kind = &structpb.Value_NullValue{}
	case r.word("true"):
		value.Kind = &structpb.Value_BoolValue{BoolValue: true}
	case r.word("false"):
		value.Kind = &structpb.Value_BoolValue{}
	default:
		number, err := r.number()
		if err != nil {
			return nil, err
		}
		kind := one(&r.numbers)
		kind.NumberValue = number
		value.Kind = kind
	}
	return value, nil
}

func (r *objectReader) word(word string) bool {
	if !strings.HasPrefix(r.text[r.at:], word) {
		return false
	}
	r.at += len(word)
	return true
}

func (r *objectReader) number() (float64, error) {
	length := strings.IndexFunc(r.text[r.at:], func(c rune) bool {
		return (c < '0' || c > '9') && !strings.ContainsRune("+-.eE", c)
	})
	if length <= 0 { // an object does not end with a number
		return 0, errNoObject
	}
	number, err := strconv.ParseFloat(r.text[r.at:r.at+length], 64)
	r.at += length
	return number, err
}

// string reads a string that begins here. One without escapes is a part of the
// text.
func (r *objectReader) string() (string, error) {
	start, escaped := r.at, false
	for r.at++; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '\\':
			escaped = true
			r.at++
		case '"':
			r.at++
			if !escaped {
				return r.text[start+1 : r.at-1], nil
			}
			var text string
			err := json.Unmarshal([]byte(r.text[start:r.at]), &text)
			return text, err
		}
	}
	return "", errNoObject
}

// one returns an element of a block that is still as it was made.
func one[T any](block *[]T) *T {
	const blockLength = 64
	if len(*block) == cap(*block) {
		*block = make([]T, 0, blockLength)
	}
	*block = (*block)[:len(*block)+1]
	return &(*block)[len(*block)-1]
}
