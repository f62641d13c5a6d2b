package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/vector"
	"github.com/ragdhq/ragd/internal/index/wording"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/facet"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// maxima limits the entries of lists, by the field's full name. Lists over a limit are
// rejected before they are decoded.
var maxima = map[protoreflect.FullName]int{
	"ragd.v1.BatchQueryRequest.queries":           query.MaxBatch,
	"ragd.v1.CountChunksRequest.facets":           facet.Max,
	"ragd.v1.CountChunksRequest.query_vector":     index.MaxBits,
	"ragd.v1.DeleteDocumentsRequest.document_ids": ingest.MaxDeletedNamed,
	"ragd.v1.DeleteDocumentsRequest.uris":         ingest.MaxDeletedNamed,
	"ragd.v1.EmbedRequest.texts":                  query.MaxEmbedTexts,
	"ragd.v1.Facet.ranges":                        facet.MaxRanges,
	"ragd.v1.FindUnchangedRequest.documents":      ingest.MaxCompared,
	"ragd.v1.GraphRagRequest.query_vector":        index.MaxBits,
	"ragd.v1.Like.exclude":                        query.MaxExcluded,
	"ragd.v1.Like.negative":                       query.MaxExamples,
	"ragd.v1.Like.positive":                       query.MaxExamples,
	"ragd.v1.PutCurationsRequest.curations":       wording.MaxCurations,
	"ragd.v1.PutSynonymsRequest.synonyms":         wording.MaxSynonyms,
	"ragd.v1.QueryRequest.query_vector":           index.MaxBits,
	"ragd.v1.RerankRequest.results":               rerank.MaxCandidates,
	"ragd.v1.SyncSourceRequest.documents":         ingest.MaxSourceDocuments,
	"ragd.v1.UpsertRequest.entries":               vector.MaxEntries,
	"ragd.v1.VectorQueryRequest.query_vector":     index.MaxBits,
}

// counted returns a handler that calls next for requests within the limits of their tenant:
// their rate, and but for streams their number at once.
func counted(gate *admission.Gate, calls map[string]procedure, next http.Handler) http.Handler {
	refuse := Refuse()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, ok := access.FromContext(r.Context())
		if !ok || caller.Tenant == "" {
			next.ServeHTTP(w, r)
			return
		}
		begin := gate.Begin
		if calls[r.URL.Path].streams {
			begin = gate.BeginStream
		}
		if caller.Principal.OfPages() {
			begin = gate.OfPage(caller.Principal.Subject)
		}
		end, err := begin(r.Context(), caller.Tenant, caller.Quotas)
		if err != nil {
			refuse(w, r, err)
			return
		}
		defer end()
		next.ServeHTTP(w, r)
	})
}

// admitted returns a handler that calls next with request messages that the gate has
// admitted: decompressed, and weighed before next decodes them. shapes has the message of
// each procedure, by path. Large messages are weighed, decoded and encoded in slots of the
// processor.
func admitted(gate *admission.Gate, processor *limit.Processor, shapes map[string]*admission.Shape, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shape := shapes[r.URL.Path]
		if r.Method != http.MethodPost || shape == nil {
			r.Body = http.NoBody // next answers without reading it
			next.ServeHTTP(w, r)
			return
		}
		var of tenant.ID
		if caller, ok := access.FromContext(r.Context()); ok {
			of = caller.Tenant
		}
		slot := &codecSlot{processor: processor, tenant: string(of)}
		defer slot.leave()
		in := &inbound{ctx: r.Context(), body: r.Body, length: r.ContentLength, shape: shape, memory: gate.Open(of), slot: slot, drains: r.ProtoMajor == 1}
		defer in.memory.Close()
		ctx, release := gate.WithMemory(r.Context(), of)
		defer release()
		r = r.WithContext(context.WithValue(ctx, codecSlotKey{}, slot))
		in.protocol(r.Header)
		r.Body = in
		next.ServeHTTP(slotWriter{w, slot}, r)
	})
}

// requestShapes returns the shapes of the request messages by the paths of their procedures.
func requestShapes(calls map[string]procedure) map[string]*admission.Shape {
	messages := make([]protoreflect.MessageDescriptor, 0, len(calls))
	for _, call := range calls {
		messages = append(messages, call.method.Input())
	}
	all := admission.Shapes(maxima, messages...)
	byPath := map[string]*admission.Shape{}
	for path, call := range calls {
		byPath[path] = all[call.method.Input().FullName()]
	}
	return byPath
}

// inbound is the body of a call: its messages as they arrive, admitted one by one. What it
// returns is never compressed.
type inbound struct {
	ctx       context.Context // of the request whose body this is
	body      io.ReadCloser
	length    int64 // of the body, negative if unknown
	shape     *admission.Shape
	memory    *admission.Request
	slot      *codecSlot // held while the last large message is decoded
	json      bool
	gzip      bool
	enveloped bool // messages have a prefix, as in gRPC and in streams
	drains    bool // the rest of a rejected body is read

	prefix, message []byte // not yet read by the library
	err             error  // after them
}

// prefixBytes is the size of a message's prefix: a byte of flags, of which the lowest says
// that the message is compressed, and the message's length.
const prefixBytes = 5

// protocol sets the fields that the headers decide, and removes the encoding of a unary
// body, which is undone here.
func (in *inbound) protocol(header http.Header) {
	contentType, _, _ := strings.Cut(strings.ToLower(header.Get("Content-Type")), ";")
	contentType = strings.TrimSpace(contentType)
	in.json = strings.HasSuffix(contentType, "json")
	encoding := "Content-Encoding"
	switch {
	case strings.HasPrefix(contentType, "application/grpc"):
		in.enveloped, encoding = true, "Grpc-Encoding"
	case strings.HasPrefix(contentType, "application/connect+"):
		in.enveloped, encoding = true, "Connect-Content-Encoding"
	}
	if in.gzip = header.Get(encoding) == "gzip"; in.gzip && !in.enveloped {
		header.Del(encoding)
	}
}

// Read implements io.Reader. Errors: *connect.Error for a message that is not admitted;
// those of the body.
func (in *inbound) Read(p []byte) (int, error) {
	for len(in.prefix) == 0 && len(in.message) == 0 {
		if in.err != nil {
			return 0, in.err
		}
		in.next()
	}
	if len(in.prefix) > 0 {
		n := copy(p, in.prefix)
		in.prefix = in.prefix[n:]
		return n, nil
	}
	n := copy(p, in.message)
	if in.message = in.message[n:]; len(in.message) == 0 {
		in.message = nil
		in.memory.Arrived()
	}
	return n, nil
}

// Close implements io.Closer.
func (in *inbound) Close() error { return in.body.Close() }

// next reads and admits a message.
func (in *inbound) next() {
	var err error
	if in.enveloped {
		err = in.nextEnvelope()
	} else if in.message, err = in.read(in.length, in.gzip); err == nil {
		in.err = io.EOF
	}
	if err == nil {
		return
	}
	in.err = err
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return
	}
	httpserver.Fail(in.ctx, err)
	in.err = wireError(err, httpserver.RequestID(in.ctx))
	if in.drains {
		in.memory.Drain(in.body)
	}
}

func (in *inbound) nextEnvelope() error {
	var prefix [prefixBytes]byte
	if _, err := io.ReadFull(in.body, prefix[:]); err != nil {
		return err
	}
	const compressed, known = 1, 3
	if prefix[0] > known {
		return fault.New(fault.Invalid, "the body is not made of messages with a prefix of 5 bytes (one of flags, four of length), as Content-Type says: call streams with a client of Connect or gRPC")
	}
	inflate := in.gzip && prefix[0]&compressed != 0
	message, err := in.read(int64(binary.BigEndian.Uint32(prefix[1:])), inflate)
	if err != nil {
		return err
	}
	if inflate {
		prefix[0] &^= compressed
	}
	binary.BigEndian.PutUint32(prefix[1:], uint32(len(message)))
	in.prefix, in.message = prefix[:], message
	return nil
}

// read reads a message of length bytes, or of the whole body if length is negative, and
// takes the memory that it needs in place of the last one. If the message is large, the slot
// is held when read returns, for the decoding that follows.
func (in *inbound) read(length int64, inflate bool) ([]byte, error) {
	in.slot.leave() // an earlier message is decoded
	message, err := in.memory.Read(in.ctx, in.body, length)
	if err != nil {
		return nil, err
	}
	if inflate && len(message) > 0 {
		if message, err = in.memory.Inflate(in.ctx, message); err != nil {
			return nil, err
		}
	}
	decoded, err := in.weigh(message)
	if err != nil {
		return nil, err
	}
	if err := in.memory.Admit(in.ctx, admission.Weight(message, decoded)); err != nil {
		return nil, err
	}
	return message, in.slot.enter(in.ctx, len(message))
}

// weigh returns the memory of the decoded message, in bytes.
func (in *inbound) weigh(message []byte) (int64, error) {
	if err := in.slot.enter(in.ctx, len(message)); err != nil {
		return 0, err
	}
	defer in.slot.leave() // nothing may wait for memory in a slot
	if in.json {
		return in.shape.WeighJSON(message)
	}
	return in.shape.WeighProto(message)
}
