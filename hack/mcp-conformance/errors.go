package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// The suite expects a tool to answer with a JSON-RPC error code of its own, which the
// library does not support. So the response is replaced on its way out.

type wantedKey struct{}

// answerWith sets the error that answers the call in ctx.
func answerWith(ctx context.Context, code int, message string, data any) {
	details := mcpgo.NewJSONRPCErrorDetails(code, message, data)
	*ctx.Value(wantedKey{}).(*mcpgo.JSONRPCErrorDetails) = details
}

func withErrors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wanted := new(mcpgo.JSONRPCErrorDetails)
		r = r.WithContext(context.WithValue(r.Context(), wantedKey{}, wanted))
		next.ServeHTTP(&replacer{ResponseWriter: w, wanted: wanted}, r)
	})
}

// replacer is a response writer that writes the error instead of the response, which the
// library writes in one call.
type replacer struct {
	http.ResponseWriter
	wanted *mcpgo.JSONRPCErrorDetails
	status int
}

// Unwrap lets http.ResponseController reach the writer.
func (w *replacer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *replacer) WriteHeader(status int) {
	if w.status = status; w.wanted.Code == 0 {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *replacer) Write(p []byte) (int, error) {
	if w.wanted.Code == 0 {
		return w.ResponseWriter.Write(p)
	}
	var answer struct {
		ID any `json:"id"`
	}
	if err := json.NewDecoder(bytes.NewReader(p)).Decode(&answer); err != nil {
		return 0, err
	}
	raw, err := json.Marshal(mcpgo.JSONRPCError{JSONRPC: mcpgo.JSONRPC_VERSION, ID: mcpgo.NewRequestId(answer.ID), Error: *w.wanted})
	if err != nil {
		return 0, err
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.ResponseWriter.WriteHeader(http.StatusBadRequest)
	if _, err := w.ResponseWriter.Write(raw); err != nil {
		return 0, err
	}
	return len(p), nil
}
