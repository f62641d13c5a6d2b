package rpc

import (
	"errors"
	"fmt"
	"regexp"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonCodec is the JSON of Connect calls. It differs from the library's in two
// ways. A field that a message does not have is refused: a misspelt filter that
// went unnoticed would show too much. And what is empty or 0 is written all the
// same, so that callers need not know that proto leaves it out.
type jsonCodec struct{}

// Name implements connect.Codec.
func (jsonCodec) Name() string { return "json" }

// Marshal implements connect.Codec.
func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend spares the library a copy.
func (jsonCodec) MarshalAppend(dst []byte, message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message", message)
	}
	return protojson.MarshalOptions{EmitDefaultValues: true}.MarshalAppend(dst, m)
}

// Unmarshal implements connect.Codec.
func (jsonCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a message", message)
	}
	if len(data) == 0 { // a GET without a message
		return nil
	}
	return unreadable(protojson.Unmarshal(data, m))
}

// protoCodec is the binary form. It differs from the library's in that the error
// about a malformed message does not name a Go type.
type protoCodec struct{}

// Name implements connect.Codec.
func (protoCodec) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (c protoCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend spares the library a copy.
func (protoCodec) MarshalAppend(dst []byte, message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message", message)
	}
	return proto.MarshalOptions{}.MarshalAppend(dst, m)
}

// Unmarshal implements connect.Codec.
func (protoCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a message", message)
	}
	return unreadable(proto.Unmarshal(data, m))
}

// implementation is how the proto library begins an error, with a space that is
// not always one.
var implementation = regexp.MustCompile(`^proto:[\s\x{a0}]*`)

// unreadable leaves out of an error about a malformed message who found it.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(implementation.ReplaceAllString(err.Error(), ""))
}
