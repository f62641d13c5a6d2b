package mcphttp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// The library gives handlers no way to choose the code and the data of an error, nor the members of a result. So
// what answers a request is replaced as it is written, if the handler has called Fail or Answer.

// Failure is the JSON-RPC error of a request.
type Failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// failing holds what replaces the answer of one request: a failure, or else a result; nil for none.
type failing struct {
	atomic.Pointer[Failure]
	result atomic.Pointer[json.RawMessage]
	tasks  *listenedTasks // of a stream that tells of tasks; nil for others
}

type failingKey struct{}

// Fail answers the request in ctx with an error, whatever its handler returns. To clients of
// revision 2026-07-28 it has the status 400, unless notifications were sent before.
func Fail(ctx context.Context, f Failure) {
	if to, ok := ctx.Value(failingKey{}).(*failing); ok {
		to.Store(&f)
	}
}

// Answer answers the request in ctx with a result, a JSON object, whatever its handler returns.
func Answer(ctx context.Context, result json.RawMessage) {
	if to, ok := ctx.Value(failingKey{}).(*failing); ok {
		to.result.Store(&result)
	}
}

// unknownName is a name, URI and cursor that the library does not know: it is no base64, which
// cursors are.
const unknownName = "unknown name"

// Refuse is Fail with the code of invalid parameters. It returns a name, URI or cursor that the
// library refuses, so that it goes no further.
func Refuse(ctx context.Context, text string) string {
	Fail(ctx, Failure{Code: mcpgo.INVALID_PARAMS, Message: text})
	return unknownName
}

// replace returns an encoded message, which may be the data of an event, with the failure or the result in
// place of the answer. A notification and a request of the server are returned as they are.
func (f *failing) replace(p []byte) []byte {
	if f.tasks != nil {
		p = f.tasks.acknowledge(p)
	}
	failure, result := f.Load(), f.result.Load()
	begin, end := bytes.IndexByte(p, '{'), bytes.LastIndexByte(p, '}')
	if failure == nil && result == nil || begin < 0 || end < begin {
		return p
	}
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(p[begin:end+1], &message) != nil || message.Method != "" || len(message.ID) == 0 {
		return p
	}
	answer := map[string]any{"jsonrpc": mcpgo.JSONRPC_VERSION, "id": message.ID}
	if failure != nil {
		answer["error"] = failure
	} else {
		answer["result"] = result
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return p
	}
	return bytes.Join([][]byte{p[:begin], raw, p[end+1:]}, nil)
}

// instead returns the failure as a message, or the answer if there is none.
func (f *failing) instead(answer mcpgo.JSONRPCMessage) mcpgo.JSONRPCMessage {
	failure := f.Load()
	if failure == nil {
		return answer
	}
	refused := mcpgo.JSONRPCError{JSONRPC: mcpgo.JSONRPC_VERSION, Error: mcpgo.NewJSONRPCErrorDetails(failure.Code, failure.Message, failure.Data)}
	switch answer := answer.(type) {
	case mcpgo.JSONRPCResponse:
		refused.ID = answer.ID
	case mcpgo.JSONRPCError:
		refused.ID = answer.ID
	}
	return refused
}

// status returns the status of an answer that is not a stream.
func (f *failing) status(status int, modern bool) int {
	if modern && f.Load() != nil {
		return http.StatusBadRequest
	}
	return status
}
