package rpc

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/idempotency"
)

// tells are the streams that change nothing, though they are not marked NO_SIDE_EFFECTS: callers would
// then send them as a GET. They are as safe to repeat as calls that are.
var tells = append([]string{
	ragdv1connect.DocumentServiceDownloadDocumentProcedure, ragdv1connect.DocumentServiceExportChunksProcedure, ragdv1connect.ArchiveServiceExportTenantProcedure, ragdv1connect.ResearchServiceResearchStreamProcedure,
}, watches...)

// insteadOf are the streams that change something, and what to call instead with an idempotency key.
var insteadOf = map[string]string{
	ragdv1connect.AgentServiceAskAgentStreamProcedure:     "call AskAgent, or send none",
	ragdv1connect.ArchiveServiceImportTenantProcedure:     "send none: an import goes on where it was when it is called again",
	ragdv1connect.DocumentServiceUploadDocumentsProcedure: "call UploadDocument, or give each document a uri and send none: the same document again changes nothing",
	ragdv1connect.ToolServiceCallToolStreamProcedure:      "call CallTool, or send none",
	ragdv1connect.WorkflowServiceRunWorkflowProcedure:     "call StartWorkflow and WatchRun, or send none",
}

// effect says what a second call would do, and so what an idempotency key means for a method.
type effect int

const (
	none  effect = iota // a second call does no harm: the key is ignored
	once                // the answer is kept for repeats
	flows               // the answer is a stream, which is not kept: the key is refused
)

// effectOf returns the effect of a method.
func effectOf(of connect.Spec) effect {
	switch {
	case of.IdempotencyLevel == connect.IdempotencyNoSideEffects || slices.Contains(tells, of.Procedure):
		return none
	case of.StreamType != connect.StreamTypeUnary:
		return flows
	}
	return once
}

// keyOf returns the idempotency key of a call, empty for none or if it has no meaning. Errors: Invalid.
func keyOf(of connect.Spec, header http.Header) (string, error) {
	values := header.Values(idempotency.Header)
	if len(values) == 0 {
		return "", nil
	}
	switch effectOf(of) {
	case none:
		return "", nil
	case flows:
		return "", fault.Field(idempotency.Header, "the answer of %s is a stream, which is not kept: %s", strings.TrimPrefix(of.Procedure, "/"), insteadOf[of.Procedure])
	}
	return values[0], idempotency.CheckKey(values)
}

// callOnce is call for a request that may have an idempotency key.
func (i interceptor) callOnce(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (res connect.AnyResponse, err error) {
	key, err := keyOf(req.Spec(), req.Header())
	if err != nil {
		return nil, err
	}
	if key == "" || i.repeats == nil {
		return i.call(ctx, req, next)
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(req.Any().(proto.Message))
	if err != nil {
		return nil, err
	}
	output := req.Spec().Schema.(protoreflect.MethodDescriptor).Output()
	call := idempotency.Call{Key: key, Secret: showsSecret(output), Request: [][]byte{
		[]byte(req.Spec().Procedure), []byte(req.Header().Get("Ragd-Context")), []byte(req.Header().Get("Ragd-Server")), body,
	}}
	kept, repeated, err := i.repeats.Do(ctx, call, func(ctx context.Context) ([]byte, error) {
		if res, err = i.call(ctx, req, next); err != nil {
			return nil, err
		}
		return proto.Marshal(res.Any().(proto.Message))
	})
	if err != nil || !repeated {
		return res, err
	}
	return replayed(output, kept)
}

// replayed returns the kept answer of an earlier call.
func replayed(output protoreflect.MessageDescriptor, kept []byte) (connect.AnyResponse, error) {
	known, err := protoregistry.GlobalTypes.FindMessageByName(output.FullName())
	if err != nil {
		return nil, err
	}
	message := known.New().Interface()
	if err := proto.Unmarshal(kept, message); err != nil {
		return nil, err
	}
	return keptResponse{message: message, header: http.Header{idempotency.ReplayedHeader: {"true"}}, trailer: http.Header{}}, nil
}

// keptResponse is an answer whose type is known only when it is read.
type keptResponse struct {
	connect.AnyResponse // nil; it is what makes this type an AnyResponse

	message         proto.Message
	header, trailer http.Header
}

// Any implements connect.AnyResponse.
func (r keptResponse) Any() any { return r.message }

// Header implements connect.AnyResponse.
func (r keptResponse) Header() http.Header { return r.header }

// Trailer implements connect.AnyResponse.
func (r keptResponse) Trailer() http.Header { return r.trailer }

// showsSecret reports whether a message has a field marked debug_redact, or a field whose message has.
func showsSecret(of protoreflect.MessageDescriptor) bool {
	return hasSecret(of, map[protoreflect.FullName]bool{})
}

func hasSecret(of protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[of.FullName()] {
		return false
	}
	seen[of.FullName()] = true
	for i := range of.Fields().Len() {
		field := of.Fields().Get(i)
		options, _ := field.Options().(*descriptorpb.FieldOptions)
		if options.GetDebugRedact() || field.Message() != nil && hasSecret(field.Message(), seen) {
			return true
		}
	}
	return false
}
