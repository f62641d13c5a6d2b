package main

import (
	"io"
	"net/http"
	"time"
)

// bodyPause is how long a caller may send nothing of a request's body before its
// connection is closed.
const bodyPause = 30 * time.Second

// withBodyDeadline closes connections whose request does not arrive. A deadline
// for reading as a whole would end long uploads and streams.
func withBodyDeadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		body := &pausedBody{ReadCloser: r.Body, conn: http.NewResponseController(w)}
		body.extend(bodyPause)
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// pausedBody moves the deadline on with each read that brings something.
type pausedBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

// Read implements io.Reader.
func (b *pausedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err != nil:
		b.extend(0) // it is all here, or will never be
	case n > 0:
		b.extend(bodyPause)
	}
	return n, err
}

// extend sets the deadline to the pause from now, or to none. Where deadlines
// are not to be had, nothing is lost but this.
func (b *pausedBody) extend(pause time.Duration) {
	var deadline time.Time
	if pause > 0 {
		deadline = time.Now().Add(pause)
	}
	_ = b.conn.SetReadDeadline(deadline)
}
