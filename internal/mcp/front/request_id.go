package front

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
)

type requestIDKey struct{}

// WithRequestID returns a context that carries the id of the request.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id that finds a request in the log. A context without
// one gets a new id at every call.
func RequestID(ctx context.Context) string {
	if id, ok := ctx.Value(requestIDKey{}).(string); ok {
		return id
	}
	return newRequestID()
}

func newRequestID() string { return strings.ToLower(rand.Text()[:16]) }

// requestIDOf returns the caller's request id if it is a plain one, else a new
// one.
func requestIDOf(header http.Header) string {
	const maxBytes = 64
	id := header.Get("X-Request-Id")
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if id == "" || len(id) > maxBytes || strings.ContainsFunc(id, odd) {
		return newRequestID()
	}
	return id
}
