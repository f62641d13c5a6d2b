package rpc

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// The library turns errors of a codec into wire errors that have neither the fields to
// blame nor a line in the log, before an interceptor sees them. The codecs of calls
// therefore report no errors about malformed messages, but put them into the message, in
// an unknown field, from where the interceptor takes them.

// deferredJSON is jsonCodec for handlers behind the interceptor.
type deferredJSON struct{ jsonCodec }

// Unmarshal implements connect.Codec.
func (c deferredJSON) Unmarshal(data []byte, message any) error {
	return deferError(c.jsonCodec.Unmarshal(data, message), message)
}

// deferredProto is protoCodec for handlers behind the interceptor.
type deferredProto struct{ protoCodec }

// Unmarshal implements connect.Codec.
func (c deferredProto) Unmarshal(data []byte, message any) error {
	return deferError(c.protoCodec.Unmarshal(data, message), message)
}

// deferredField is the number of the unknown field: the largest, which no message uses.
const deferredField = protowire.MaxValidNumber

// deferredMark begins the content of the unknown field. No caller knows it.
var deferredMark = rand.Text()

// deferError puts an error about a malformed message into the message.
func deferError(err error, message any) error {
	m, ok := message.(proto.Message)
	if err == nil || !ok {
		return err
	}
	var malformed *fault.Error
	if !errors.As(err, &malformed) {
		return err
	}
	content, encoding := json.Marshal(fault.Error{Kind: malformed.Kind, Message: malformed.Message, Violations: malformed.Violations})
	if encoding != nil {
		return err
	}
	proto.Reset(m)
	field := protowire.AppendTag(nil, deferredField, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendString(field, deferredMark+string(content)))
	return nil
}

// deferredError returns the error that deferError put into a message, or nil.
func deferredError(message any) error {
	m, ok := message.(proto.Message)
	if !ok || len(m.ProtoReflect().GetUnknown()) == 0 {
		return nil
	}
	unknown := m.ProtoReflect().GetUnknown()
	number, wireType, n := protowire.ConsumeTag(unknown)
	if number != deferredField || wireType != protowire.BytesType {
		return nil
	}
	content, _ := protowire.ConsumeString(unknown[n:])
	content, ours := strings.CutPrefix(content, deferredMark)
	if !ours {
		return nil
	}
	malformed := &fault.Error{}
	if err := json.Unmarshal([]byte(content), malformed); err != nil {
		return err
	}
	return malformed
}

// checkedConn is a stream whose messages are checked for deferred errors.
type checkedConn struct{ connect.StreamingHandlerConn }

// Receive implements connect.StreamingHandlerConn.
func (c checkedConn) Receive(message any) error {
	if err := c.StreamingHandlerConn.Receive(message); err != nil {
		return err
	}
	return deferredError(message)
}
