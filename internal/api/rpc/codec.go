package rpc

import (
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// jsonCodec is the JSON codec of Connect calls. Unlike the library's it rejects unknown
// fields, because a misspelt filter that is ignored would show too much, and it writes
// fields with empty and zero values, so that callers need not know proto's defaults. Its
// errors are faults.
type jsonCodec struct{ name string }

// jsonNames are the names under which the library looks for a JSON codec: the end of the
// content type.
var jsonNames = []string{"json", "json; charset=utf-8"}

// Name implements connect.Codec.
func (c jsonCodec) Name() string { return c.name }

// Marshal implements connect.Codec.
func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend appends the encoded message to dst, which saves the library a copy.
func (jsonCodec) MarshalAppend(dst []byte, message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message", message)
	}
	return jsonmessage.Append(dst, m)
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
	return jsonmessage.Unmarshal(data, m)
}

// withJSON sets the JSON codecs of handlers to what of returns for each name.
func withJSON(of func(jsonCodec) connect.Codec) connect.HandlerOption {
	options := make([]connect.HandlerOption, len(jsonNames))
	for i, name := range jsonNames {
		options[i] = connect.WithCodec(of(jsonCodec{name}))
	}
	return connect.WithHandlerOptions(options...)
}

// protoCodec is the binary codec. Its errors about malformed messages are faults and name
// no Go types.
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
	if err := proto.Unmarshal(data, m); err != nil {
		return fault.Wrap(fault.Invalid, err, "the message is not a binary proto of this call: %s", jsonmessage.Reason(err))
	}
	return nil
}
