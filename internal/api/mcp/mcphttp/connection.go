package mcphttp

import (
	"net/http"
	"sync"
	"time"
)

// connection writes to the connection of a client, with a deadline for each write. Once
// begun, it sends a comment after each period of silence, so that proxies keep the stream open
// and a client that stopped reading is noticed. Safe for concurrent use.
type connection struct {
	w            http.ResponseWriter
	control      *http.ResponseController
	keepAlive    time.Duration
	writeTimeout time.Duration
	lost         func() // called when a write has failed

	mu     sync.Mutex
	quiet  *time.Timer // nil until begun
	failed bool
	closed bool
}

func newConnection(w http.ResponseWriter, keepAlive, writeTimeout time.Duration, lost func()) *connection {
	return &connection{w: w, control: http.NewResponseController(w), keepAlive: keepAlive, writeTimeout: writeTimeout, lost: lost}
}

// begin sends the header of a stream and starts the comments.
func (c *connection) begin(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w.Header().Set("X-Accel-Buffering", "no") // otherwise nginx buffers the events
	c.w.WriteHeader(status)
	c.quiet = time.AfterFunc(c.keepAlive, c.comment)
}

// write sends p, which must be whole events once the connection has begun. It returns false
// if the client is gone.
func (c *connection) write(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.failed {
		return false
	}
	c.send(p)
	if c.quiet != nil {
		c.quiet.Reset(c.keepAlive)
	}
	return !c.failed
}

// flush sends what was written.
func (c *connection) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && !c.failed {
		c.flushLocked()
	}
}

// comment sends a comment, which keeps a silent stream open.
func (c *connection) comment() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.failed {
		return
	}
	if c.send([]byte(": keep-alive\n\n")); !c.failed {
		c.flushLocked()
	}
	c.quiet.Reset(c.keepAlive)
}

func (c *connection) send(p []byte) {
	c.setDeadline(time.Now().Add(c.writeTimeout))
	_, err := c.w.Write(p)
	c.failOn(err)
}

// flushLocked flushes and then clears the deadline: it would end an idle HTTP/2 stream, or the
// next response on an HTTP/1 connection. After a failure the deadline stays, so that nothing
// waits for the client.
func (c *connection) flushLocked() {
	c.setDeadline(time.Now().Add(c.writeTimeout))
	c.failOn(c.control.Flush())
	if !c.failed {
		c.setDeadline(time.Time{})
	}
}

// failOn records that a write failed, and that the client is gone.
func (c *connection) failOn(err error) {
	if err != nil && !c.failed {
		c.failed = true
		c.lost()
	}
}

// setDeadline sets the write deadline. It ignores connections without deadlines, such as
// recorders in tests.
func (c *connection) setDeadline(t time.Time) { _ = c.control.SetWriteDeadline(t) }

// close stops the comments. Nothing is written to the connection afterwards.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.quiet != nil {
		c.quiet.Stop()
	}
}
