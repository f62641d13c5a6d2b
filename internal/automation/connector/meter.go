package connector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// meter is the transport of libraries that make the requests of a walk themselves. It counts these
// with those of the fetcher, bounds them, and cancels a request from which nothing arrives for
// requestTimeout.
type meter struct {
	fetch *fetcher
	most  int64 // bytes of an answer
	last  failure
}

// failure is why the last request failed, nil if it did not. Not every library passes errors on.
type failure struct{ atomic.Pointer[error] }

func (f *failure) err() error {
	if err := f.Load(); err != nil {
		return *err
	}
	return nil
}

// err returns why the last request failed that was made without apart, nil if it did not.
func (m *meter) err() error { return m.last.err() }

type failureKey struct{}

// apart returns a context whose requests have a failure of their own.
func apart(ctx context.Context) (context.Context, *failure) {
	f := new(failure)
	return context.WithValue(ctx, failureKey{}, f), f
}

type mostKey struct{}

// withMost returns a context whose requests have answers of at most so many bytes, instead of those of the meter.
func withMost(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, mostKey{}, bytes)
}

// fail keeps and returns why a request with the context failed.
func (m *meter) fail(ctx context.Context, err error) error {
	f, ok := ctx.Value(failureKey{}).(*failure)
	if !ok {
		f = &m.last
	}
	f.Store(&err)
	return err
}

// errSilent ends a request from which nothing arrives.
var errSilent = &fetchError{fmt.Sprintf("nothing arrived within %v", requestTimeout)}

// RoundTrip implements http.RoundTripper.
func (m *meter) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := m.fail(req.Context(), m.fetch.countRequest()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	most, ok := ctx.Value(mostKey{}).(int64)
	if !ok {
		most = m.most
	}
	b := &meteredBody{meter: m, ctx: req.Context(), cancel: cancel, most: most, left: most, timer: time.AfterFunc(requestTimeout, func() { cancel(errSilent) })}
	out := req.Clone(ctx)
	out.Header.Set("User-Agent", UserAgent)
	res, err := m.fetch.client.Transport.RoundTrip(out)
	if err != nil {
		_ = b.end()
		return nil, b.failed(err)
	}
	res.Request = req
	b.body, res.Body = res.Body, b
	return res, nil
}

// meteredBody is the body of an answer.
type meteredBody struct {
	meter  *meter
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	timer  *time.Timer
	body   io.ReadCloser
	most   int64
	left   int64
}

// Read implements io.Reader.
func (b *meteredBody) Read(p []byte) (int, error) {
	b.timer.Reset(requestTimeout)
	n, err := b.body.Read(p)
	b.left -= int64(n)
	if spent := b.meter.fetch.countBytes(int64(n)); spent != nil {
		return n, b.meter.fail(b.ctx, spent)
	}
	if b.left < 0 {
		return n, b.meter.fail(b.ctx, &fetchError{fmt.Sprintf("has more than %d bytes", b.most)})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.failed(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *meteredBody) Close() error {
	return b.end()
}

func (b *meteredBody) end() (err error) {
	b.timer.Stop()
	if b.body != nil {
		err = b.body.Close()
	}
	b.cancel(nil)
	return err
}

// failed keeps and returns why the request failed, in public words.
func (b *meteredBody) failed(err error) error {
	return b.meter.fail(b.ctx, b.meter.fetch.failure(b.ctx, err))
}

// countRequest counts a request. Errors: Exhausted when there were too many.
func (f *fetcher) countRequest() error {
	if f.requests.Add(1) > f.maxRequests() {
		f.requests.Add(-1)
		return fault.New(fault.Exhausted, "the source needs more than %d requests", f.maxRequests())
	}
	return nil
}

// countBytes counts bytes of an answer. Errors: Exhausted when there were too many.
func (f *fetcher) countBytes(n int64) error {
	if f.bytes.Add(n) > f.maxBytes() {
		return fault.New(fault.Exhausted, "the source has more than %d bytes", f.maxBytes())
	}
	return nil
}
