package mcphttp

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// response is the writer that the library gets. Streams are passed through at once, with
// a deadline for each write and a comment after each period of silence, so that proxies
// keep the stream open and a client that stopped reading does not block the server. Other
// responses are collected and sent as a whole, so that a panic can still be answered.
//
// The library writes one whole event at a time, so a comment never lands inside one.
type response struct {
	w            http.ResponseWriter
	control      *http.ResponseController
	keepAlive    time.Duration
	writeTimeout time.Duration
	abort        func() // ends the request
	// hideSession removes the library's session id from the response.
	hideSession bool
	// detached replaces the marks in what the library writes; nil for none.
	detached *detached

	mu     sync.Mutex // guards the fields below, and writes to w
	status int
	body   bytes.Buffer
	quiet  *time.Timer // nil unless streaming
	failed bool
	closed bool
}

func newResponse(w http.ResponseWriter, keepAlive, writeTimeout time.Duration, abort func()) *response {
	return &response{
		w: w, control: http.NewResponseController(w), keepAlive: keepAlive, writeTimeout: writeTimeout, abort: abort,
	}
}

// Header implements server.HTTPResponseWriter.
func (r *response) Header() http.Header { return r.w.Header() }

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
		r.w.Header().Del(sessionHeader)
	}
	if strings.HasPrefix(r.w.Header().Get("Content-Type"), "text/event-stream") {
		r.w.Header().Set("X-Accel-Buffering", "no") // otherwise nginx buffers the events
		r.w.WriteHeader(status)
		r.quiet = time.AfterFunc(r.keepAlive, r.comment)
	}
}

// Write implements server.HTTPResponseWriter.
func (r *response) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quiet == nil {
		r.status = cmp.Or(r.status, http.StatusOK)
		return r.body.Write(p)
	}
	_, err := r.send(r.detached.splice(p))
	r.quiet.Reset(r.keepAlive)
	return len(p), err
}

// Flush implements server.HTTPResponseWriter.
func (r *response) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quiet != nil {
		r.flush()
	}
}

// comment sends a comment, which keeps a silent stream open.
func (r *response) comment() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.failed {
		return
	}
	if _, err := r.send([]byte(": keep-alive\n\n")); err == nil {
		r.flush()
	}
	r.quiet.Reset(r.keepAlive)
}

func (r *response) send(p []byte) (int, error) {
	r.setDeadline(time.Now().Add(r.writeTimeout))
	n, err := r.w.Write(p)
	r.failOn(err)
	return n, err
}

// flush sends the written bytes and then clears the deadline: it would end an idle HTTP/2
// stream, or the next response on an HTTP/1 connection. After a failure the deadline
// stays, so that nothing waits for the client.
func (r *response) flush() {
	r.setDeadline(time.Now().Add(r.writeTimeout))
	r.failOn(r.control.Flush())
	if !r.failed {
		r.setDeadline(time.Time{})
	}
}

// failOn ends the request if a write failed.
func (r *response) failOn(err error) {
	if err != nil {
		r.failed = true
		r.abort()
	}
}

// setDeadline sets the write deadline. It ignores connections without deadlines, such as
// recorders in tests.
func (r *response) setDeadline(t time.Time) { _ = r.control.SetWriteDeadline(t) }

// finish sends a collected response.
func (r *response) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quiet != nil {
		return
	}
	// The library sends nothing if a request was cancelled. If the client is still
	// connected, the cause was the end of the session or a shutdown.
	r.status = cmp.Or(r.status, http.StatusServiceUnavailable)
	r.w.Header().Set("Cache-Control", "no-store")
	body := r.detached.splice(r.body.Bytes())
	r.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	r.w.WriteHeader(r.status)
	if _, err := r.send(body); err == nil {
		r.flush()
	}
}

// close stops the comments. Nothing is written to the connection afterwards.
func (r *response) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.quiet != nil {
		r.quiet.Stop()
	}
}
