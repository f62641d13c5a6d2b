// Package httpserver cuts off requests that stop arriving.
package httpserver

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// MaxPause is how long nothing of a request's body may arrive while it is waited for.
const MaxPause = 30 * time.Second

// Limit gives requests to next whose bodies fail to be read, with an error that is an
// os.ErrDeadlineExceeded, when nothing arrives for the pause. A deadline for reading as
// a whole would end long uploads; and the time that next takes to ask for more is its
// own.
func Limit(next http.Handler, pause time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		conn := http.NewResponseController(w)
		// A read that waits is woken by a deadline that has passed. Where deadlines are
		// not to be had, nothing is lost but this.
		cut := time.AfterFunc(pause, func() { _ = conn.SetReadDeadline(time.Now()) })
		cut.Stop()
		defer cut.Stop()
		r.Body = &body{ReadCloser: r.Body, pause: pause, cut: cut}
		next.ServeHTTP(w, r)
	})
}

// body is a request's body whose reads end when nothing arrives.
type body struct {
	io.ReadCloser
	pause time.Duration
	cut   *time.Timer
	late  bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.late {
		return 0, stalledError{b.pause}
	}
	b.cut.Reset(b.pause)
	n, err := b.ReadCloser.Read(p)
	if b.late = !b.cut.Stop(); b.late && n == 0 {
		return 0, stalledError{b.pause}
	}
	return n, err
}

// stalledError says that nothing arrived for the pause.
type stalledError struct{ pause time.Duration }

// Error is for the caller.
func (e stalledError) Error() string {
	return fmt.Sprintf("nothing of the request has arrived for %v, so that it is cut off: send it again without such a pause", e.pause)
}

// Unwrap returns os.ErrDeadlineExceeded.
func (stalledError) Unwrap() error { return os.ErrDeadlineExceeded }
