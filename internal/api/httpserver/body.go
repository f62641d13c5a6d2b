package httpserver

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// drainTime limits the time in which the server reads the rest of a body that its handler
// left unread, to keep the connection usable.
const drainTime = 5 * time.Second

// MaxPause is the default longest time that a read of a request's body waits for data.
const MaxPause = 30 * time.Second

// Limit returns a handler that calls next with a body whose reads fail with
// os.ErrDeadlineExceeded if nothing arrives for the pause. The total time of an upload is
// not limited, and neither is the time between reads. The rest of a body that next leaves
// unread must arrive within drainTime, else the connection is closed.
func Limit(next http.Handler, pause time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		conn := http.NewResponseController(w)
		// A deadline in the past ends a waiting read. Connections without deadlines are
		// not limited.
		cut := time.AfterFunc(pause, func() { _ = conn.SetReadDeadline(time.Now()) })
		cut.Stop()
		defer cut.Stop()
		in := &body{ReadCloser: r.Body, pause: pause, cut: cut, conn: conn}
		defer in.limitDrain()
		// In a copy: by the body of its own request the server tells whether a connection
		// can be used again, or still carries the rest of a body.
		r = r.WithContext(r.Context())
		r.Body = in
		next.ServeHTTP(w, r)
	})
}

// body is a request's body whose reads fail if nothing arrives for the pause.
type body struct {
	io.ReadCloser
	pause time.Duration
	cut   *time.Timer
	conn  *http.ResponseController
	late  bool
	ended bool // a read returned an error, such as io.EOF
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.late {
		return 0, stalledError{b.pause}
	}
	b.cut.Reset(b.pause)
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	if b.late = !b.cut.Stop(); b.late && n == 0 {
		return 0, stalledError{b.pause}
	}
	return n, err
}

// Close implements io.Closer. It may read the rest of the body, for at most drainTime.
func (b *body) Close() error {
	b.limitDrain()
	return b.ReadCloser.Close()
}

// limitDrain limits the time in which the server reads the rest of the body.
func (b *body) limitDrain() {
	if !b.ended {
		_ = b.conn.SetReadDeadline(time.Now().Add(min(drainTime, b.pause)))
	}
}

// stalledError reports that nothing arrived for the pause.
type stalledError struct{ pause time.Duration }

// Error returns a message for the caller.
func (e stalledError) Error() string {
	return fmt.Sprintf("nothing of the request has arrived for %v, so that it is cut off: send it again without such a pause", e.pause)
}

// Unwrap returns os.ErrDeadlineExceeded.
func (stalledError) Unwrap() error { return os.ErrDeadlineExceeded }
