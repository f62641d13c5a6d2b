package rpc

import (
	"errors"
	"fmt"
	"regexp"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonCodec is the JSON codec of Connect calls. Unlike the library's it rejects unknown
// fields, because a misspelt filter that is ignored would show too much, and it writes
// fields with empty and zero values, so that callers need not know proto's defaults.
type jsonCodec struct{}

// Name implements connect.Codec.
func (jsonCodec) Name() string { return "json" }

// Marshal implements connect.Codec.
func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend appends the encoded message to dst, which saves the library a copy.
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
	return decodeError(protojson.Unmarshal(data, m))
}

// protoCodec is the binary codec. Unlike the library's, its errors about malformed
// messages name no Go types.
type protoCodec struct{}

// Name implements connect.Codec.
func (protoCodec) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (c protoCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend appends the encoded message to dst, which saves the library a copy.
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
	return decodeError(proto.Unmarshal(data, m))
}

// protoPrefix matches the prefix of the proto library's errors; the library writes its
// space at random as a space or a no-break space.
var protoPrefix = regexp.MustCompile(`^proto:[\s\x{a0}]*`)

// decodeError strips the library's prefix from an error about a malformed message.
func decodeError(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(protoPrefix.ReplaceAllString(err.Error(), ""))
}
