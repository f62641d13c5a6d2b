package mcphttp

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// response is the writer that the library gets. Streams are passed through at once. Other
// responses are collected and sent as a whole, so that a panic can still be answered.
//
// The library writes one whole event at a time.
type response struct {
	conn *connection
	// hideSession removes the library's session id from the response.
	hideSession bool
	// detached replaces the marks in what the library writes; nil for none.
	detached *detached
	// failing is the error that replaces the answer, if there is one.
	failing *failing
	modern  bool // the client has revision 2026-07-28 or later
	// resume returns the stream that keeps the events for a client that comes back; nil for
	// streams that end with the connection.
	resume func() *stream

	mu        sync.Mutex // guards the fields below
	status    int
	body      bytes.Buffer
	streaming bool
	stream    *stream // nil unless streaming with resume
}

func newResponse(conn *connection) *response { return &response{conn: conn, failing: &failing{}} }

// shown returns what the library has written as the client gets it.
func (r *response) shown(p []byte) []byte { return r.failing.replace(r.detached.splice(p)) }

// Header implements server.HTTPResponseWriter.
func (r *response) Header() http.Header { return r.conn.w.Header() }

// CanStream implements server.HTTPResponseWriter.
func (r *response) CanStream() bool { return true }

// WriteHeader implements server.HTTPResponseWriter.
func (r *response) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status != 0 {
		return
	}
	r.status = status
	if r.hideSession {
		r.Header().Del(sessionHeader)
	}
	if !strings.HasPrefix(r.Header().Get("Content-Type"), "text/event-stream") {
		return
	}
	r.streaming = true
	r.conn.begin(status)
	if r.resume != nil {
		r.stream = r.resume()
		r.stream.prime()
	}
}

// Write implements server.HTTPResponseWriter.
func (r *response) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.streaming:
		r.status = cmp.Or(r.status, http.StatusOK)
		return r.body.Write(p)
	case r.stream != nil:
		r.stream.add(r.shown(p))
	default:
		r.conn.write(r.shown(p))
	}
	return len(p), nil
}

// Flush implements server.HTTPResponseWriter.
func (r *response) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.streaming && r.stream == nil {
		r.conn.flush()
	}
}

// kept returns the stream that is kept for the client if it comes back; nil for none.
func (r *response) kept() *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stream
}

// finish sends a collected response, or ends the stream.
func (r *response) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.streaming {
		return
	}
	// The library sends nothing if a request was cancelled. If the client is still
	// connected, the cause was the end of the session or a shutdown.
	r.status = cmp.Or(r.status, http.StatusServiceUnavailable)
	r.Header().Set("Cache-Control", "no-store")
	r.status = r.failing.status(r.status, r.modern)
	body := r.shown(r.body.Bytes())
	r.Header().Set("Content-Length", strconv.Itoa(len(body)))
	r.conn.w.WriteHeader(r.status)
	if r.conn.write(body) {
		r.conn.flush()
	}
}

// close ends the stream, if there is one. Nothing is written to the connection afterwards.
func (r *response) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream != nil {
		r.stream.end()
	}
	r.conn.close()
}
