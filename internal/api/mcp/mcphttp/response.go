package mcphttp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
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
	// instance is put into the ids of requests to the client; empty for sessions that no other
	// instance serves.
	instance string
	// missed are events of the client's last stream, which was on another instance.
	missed []byte
	// resume returns the stream that keeps the events for a client that comes back; nil for
	// streams that end with the connection.
	resume func() *stream

	mu        sync.Mutex // guards the fields below
	status    int
	body      bytes.Buffer
	streaming bool
	notified  bool    // the stream began with Notify, and not by the library
	ended     bool    // nothing more is sent
	stream    *stream // nil unless streaming with resume

	progress *float64 // the last value; nil before the first
	shift    float64  // what was added to it
}

type responseKey struct{}

// Notify sends a notification of a call on the stream with its answer, in the order of the calls
// of Notify. The library would send it by whichever stream of the session is free, so that
// notifications could overtake each other and the answer. It returns false if the request of ctx
// has no such stream, or has been answered.
func Notify(ctx context.Context, method string, params any) bool {
	r, ok := ctx.Value(responseKey{}).(*response)
	if !ok {
		return false
	}
	message, err := json.Marshal(map[string]any{"jsonrpc": mcpgo.JSONRPC_VERSION, "method": method, "params": params})
	return err == nil && r.notify(eventOf(message))
}

// Shift returns what to add to a value of progress of the request of ctx, so that it is above the
// last one, as the protocol requires: a call that asks its user something is made again, and begins to
// count anew.
func Shift(ctx context.Context, done float64) float64 {
	r, ok := ctx.Value(responseKey{}).(*response)
	if !ok {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.progress != nil && done+r.shift <= *r.progress {
		r.shift = *r.progress + 1 - done
	}
	done += r.shift
	r.progress = &done
	return r.shift
}

// notify sends the event of a notification, unless the request has been answered.
func (r *response) notify(event []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.status != 0 && !r.streaming {
		return false
	}
	if !r.streaming {
		r.notified = true
		r.header().Set("Content-Type", "text/event-stream")
		r.header().Set("Cache-Control", "no-cache")
		r.begin(http.StatusOK)
	}
	r.send(event)
	if r.stream == nil {
		r.conn.flush()
	}
	return true
}

// eventOf returns the server-sent event of a message.
func eventOf(message []byte) []byte {
	return fmt.Appendf(nil, "event: message\ndata: %s\n\n", bytes.TrimRight(message, "\n"))
}

func newResponse(conn *connection) *response { return &response{conn: conn, failing: &failing{}} }

// shown returns what the library has written as the client gets it.
func (r *response) shown(p []byte) []byte { return r.failing.replace(r.detached.splice(p)) }

// Header implements server.HTTPResponseWriter. The library calls it for a notification of its own while
// Notify may have begun the response: then what it sets goes nowhere.
func (r *response) Header() http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.streaming || r.ended {
		return http.Header{}
	}
	return r.header()
}

// header returns the header of the response. The caller holds mu.
func (r *response) header() http.Header { return r.conn.w.Header() }

// CanStream implements server.HTTPResponseWriter.
func (r *response) CanStream() bool { return true }

// WriteHeader implements server.HTTPResponseWriter.
func (r *response) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status != 0 {
		return
	}
	r.begin(status)
}

// begin begins the response. The caller holds mu.
func (r *response) begin(status int) {
	r.status = status
	if r.hideSession {
		r.header().Del(sessionHeader)
	}
	if !strings.HasPrefix(r.header().Get("Content-Type"), "text/event-stream") {
		return
	}
	r.streaming = true
	r.conn.begin(status)
	if len(r.missed) > 0 {
		r.conn.write(r.missed)
	}
	if r.resume != nil {
		r.stream = r.resume()
		r.stream.prime()
		if r.stream.listens {
			r.stream.of.listen(r.stream)
		}
	}
}

// Write implements server.HTTPResponseWriter.
func (r *response) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.streaming {
		r.status = cmp.Or(r.status, http.StatusOK)
		return r.body.Write(p)
	}
	event := p
	if r.notified && bytes.HasPrefix(p, []byte("{")) { // the library does not know of the stream
		event = eventOf(p)
	}
	r.send(tagRequest(r.shown(event), r.instance))
	return len(p), nil
}

// send sends an event. The caller holds mu.
func (r *response) send(event []byte) {
	if r.stream != nil {
		r.stream.add(event)
		return
	}
	r.conn.write(event)
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

// unanswered reports whether the library has sent nothing.
func (r *response) unanswered() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status == 0
}

// finish sends a collected response, or ends the stream.
func (r *response) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.streaming {
		return
	}
	// The library sends nothing if a request was cancelled. If the client is still
	// connected, and its session has not ended, the cause was a shutdown.
	r.status = cmp.Or(r.status, http.StatusServiceUnavailable)
	r.header().Set("Cache-Control", "no-store")
	r.status = r.failing.status(r.status, r.modern)
	body := r.shown(r.body.Bytes())
	r.header().Set("Content-Length", strconv.Itoa(len(body)))
	r.conn.w.WriteHeader(r.status)
	if r.conn.write(body) {
		r.conn.flush()
	}
}

// close ends the stream, if there is one. Nothing is written to the connection afterwards.
func (r *response) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.stream != nil {
		r.stream.end()
	}
	r.conn.close()
}
