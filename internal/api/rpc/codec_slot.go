package rpc

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query"
)

// largeMessage is the size of a message from which it is decoded and encoded in a slot of
// the processor, in bytes. Smaller ones take about a millisecond or less.
const largeMessage = 256 << 10

// codecSlot is the slot of the processor in which the large messages of one request are
// decoded and encoded. The library does both, before and after the handler: the slot is
// taken before the library decodes a message, and given back when it calls the handler;
// taken again when the handler returns, and given back when the library writes. A nil
// codecSlot does nothing. Not safe for concurrent use.
type codecSlot struct {
	processor *limit.Processor
	tenant    string
	held      func() // gives the slot back; nil while there is none
	small     bool   // the answer is known to be small
}

type codecSlotKey struct{}

// codecSlotOf returns the slot of the request, nil if it has none.
func codecSlotOf(ctx context.Context) *codecSlot {
	s, _ := ctx.Value(codecSlotKey{}).(*codecSlot)
	return s
}

// enter waits for a slot if a message of this many bytes needs one. Errors: those of
// limit.Processor.Enter.
func (s *codecSlot) enter(ctx context.Context, bytes int) (err error) {
	if s == nil || bytes < largeMessage {
		return nil
	}
	s.leave()
	s.held, err = s.processor.Enter(ctx, s.tenant)
	return err
}

// leave gives the slot back, if there is one.
func (s *codecSlot) leave() {
	if s == nil || s.held == nil {
		return
	}
	s.held()
	s.held = nil
}

// encodes takes the slot for an answer that the library is about to encode.
func (s *codecSlot) encodes(ctx context.Context, answer any) error {
	if m, ok := answer.(proto.Message); ok && s != nil && !s.small {
		return s.enter(ctx, proto.Size(m))
	}
	return nil
}

// answers says what the answer is made of, which is cheaper than to measure the answer.
func (s *codecSlot) answers(sources []query.Source) {
	if s == nil {
		return
	}
	// A text is in the metadata and in the context, too. The shortest values of metadata, such as 1, take
	// up to this many times as many bytes in the answer as in JSON.
	const copies, metadataFactor, numberBytes, otherBytes = 3, 8, 10, 1 << 10
	bytes := 0
	for i := range sources {
		source := &sources[i]
		if source.Highlight != nil || source.Details != nil {
			return
		}
		bytes += copies*len(source.Text) + metadataFactor*len(source.Metadata) + numberBytes*len(source.Vector) +
			len(source.ID) + len(source.URI) + len(source.Title) + otherBytes
		for j := range source.AlsoIn {
			bytes += len(source.AlsoIn[j].URI) + len(source.AlsoIn[j].Title) + otherBytes
		}
	}
	s.small = bytes < largeMessage
}

// slotWriter gives the slot back when the encoded answer is written, because the reader of
// the answer may be slow.
type slotWriter struct {
	http.ResponseWriter
	slot *codecSlot
}

// Unwrap lets http.ResponseController find the writer's own methods.
func (w slotWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher, which streams need.
func (w slotWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Write implements io.Writer.
func (w slotWriter) Write(p []byte) (int, error) {
	w.slot.leave()
	return w.ResponseWriter.Write(p)
}

// slotConn gives the slot back when a message of a stream is decoded.
type slotConn struct {
	connect.StreamingHandlerConn
	slot *codecSlot
}

// Receive implements connect.StreamingHandlerConn.
func (c slotConn) Receive(message any) error {
	defer c.slot.leave()
	return c.StreamingHandlerConn.Receive(message)
}
