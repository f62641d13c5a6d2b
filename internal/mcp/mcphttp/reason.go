package mcphttp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"sync/atomic"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// The library has the codes of the protocol only for names, URIs and cursors that it does not
// know, and makes the message of the error out of them. Refuse gives it a mark for such a name;
// the message with the mark is replaced when it is written.

// reason is the message of the error that answers a request; nil for that of the library.
type reason struct{ text atomic.Pointer[string] }

type reasonKey struct{}

// reasonMark is what the library gets for a name. It is no base64, which cursors are. No caller
// knows it.
var reasonMark = "unknown " + rand.Text()

// cursorMessage is how the library's message for a cursor begins.
const cursorMessage = "illegal base64 data"

// Refuse returns the name, URI or cursor with which the library answers the request in ctx by an
// error whose message is text.
func Refuse(ctx context.Context, text string) string {
	if r, ok := ctx.Value(reasonKey{}).(*reason); ok {
		r.text.Store(&text)
		return reasonMark
	}
	return text
}

// apply returns the encoded message p, with the reason if it is the error that it is for.
func (r *reason) apply(p []byte) []byte {
	if r == nil {
		return p
	}
	text := r.text.Load()
	if text == nil {
		return p
	}
	at := bytes.Index(p, []byte(reasonMark))
	if at < 0 {
		at = bytes.Index(p, []byte(`"`+cursorMessage)) + 1
	}
	begin := bytes.LastIndexByte(p[:max(at, 0)], '"') // the library's texts have no quotes
	if begin < 0 {
		return p
	}
	end := bytes.IndexByte(p[at:], '"')
	encoded, err := json.Marshal(*text)
	if end < 0 || err != nil {
		return p
	}
	return append(append(append(make([]byte, 0, len(p)+len(encoded)), p[:begin]...), encoded...), p[at+end+1:]...)
}

// applyTo is apply for an answer that is not encoded.
func (r *reason) applyTo(answer mcpgo.JSONRPCMessage) mcpgo.JSONRPCMessage {
	failed, ok := answer.(mcpgo.JSONRPCError)
	if text := r.text.Load(); ok && text != nil {
		failed.Error.Message = *text
		return failed
	}
	return answer
}
