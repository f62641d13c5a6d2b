package connector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

const (
	// UserAgent is what connectors call themselves, also to robots.txt.
	UserAgent = "ragd"
	// connections is the most to one host.
	connections      = 8
	maxRedirects     = 5
	maxAttempts      = 3
	maxRetryAfter    = time.Minute
	defaultRetryWait = 2 * time.Second
)

// fetcher makes the requests of one run and bounds them. It is safe for concurrent use once its settings are set.
type fetcher struct {
	client    *http.Client
	maxItems  int           // of the connector, for which requests and bytes are allowed
	delay     time.Duration // between two requests
	retryWait time.Duration // before a request that the server was too busy for, if it does not say
	overlap   bool          // whether delay is counted from the beginning of a request, not from its end
	requests  atomic.Int64
	bytes     atomic.Int64

	mu   sync.Mutex
	next time.Time // when the next request may begin
}

// fetcher returns a fetcher for a run with a limit of items.
func (s *Service) fetcher(maxItems int) *fetcher {
	return &fetcher{client: s.client, maxItems: maxItems, retryWait: s.wait(defaultRetryWait)}
}

// turn waits until a request may begin.
func (f *fetcher) turn(ctx context.Context) error {
	f.mu.Lock()
	at := time.Now()
	if f.next.After(at) {
		at = f.next
	}
	f.next = at.Add(f.delay)
	f.mu.Unlock()
	return sleep(ctx, time.Until(at))
}

// pause makes no request begin until some time has passed.
func (f *fetcher) pause(wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at := time.Now().Add(wait); at.After(f.next) {
		f.next = at
	}
}

// maxRequests returns how many requests the run may make.
func (f *fetcher) maxRequests() int64 { return max(maxRunRequests, requestsPerItem*int64(f.maxItems)) }

// maxBytes returns how many bytes the run may read.
func (f *fetcher) maxBytes() int64 { return max(maxRunBytes, bytesPerItem*int64(f.maxItems)) }

// answer is an answer whose body was read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// fetchError is why one address cannot be read. It is public.
type fetchError struct{ reason string }

func (e *fetchError) Error() string { return e.reason }

// finalError is a fetchError that trying again does not change.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// endsRun reports whether an error of a fetcher is about the run, not about one address.
func endsRun(err error) bool {
	var one *fetchError
	return err != nil && !errors.As(err, &one)
}

// get reads an address with at most so many bytes, decompressed. It waits for the delay, and tries
// again when the server is busy. Errors: fetchError; Exhausted when the run has used up what it may.
func (f *fetcher) get(ctx context.Context, address *url.URL, header http.Header, most int64) (answer, error) {
	for attempt := 1; ; attempt++ {
		a, err := f.once(ctx, call{method: http.MethodGet, address: address, header: header}, most)
		if err != nil || attempt == maxAttempts || a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable {
			return a, err
		}
		wait := f.retryWait
		if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil && seconds >= 0 {
			wait = min(time.Duration(seconds)*time.Second, maxRetryAfter)
		}
		f.pause(wait)
		if err := sleep(ctx, wait); err != nil {
			return a, err
		}
	}
}

// follow is get that follows redirects, to any host.
func (f *fetcher) follow(ctx context.Context, address *url.URL, header http.Header, most int64) (answer, error) {
	for range maxRedirects + 1 {
		a, err := f.get(ctx, address, header, most)
		if err != nil || a.status < 300 || a.status >= 400 || a.status == http.StatusNotModified {
			return a, err
		}
		if address, err = redirect(address, a); err != nil {
			return a, err
		}
	}
	return answer{}, &fetchError{fmt.Sprintf("has more than %d redirects", maxRedirects)}
}

// redirect returns where an answer leads.
func redirect(from *url.URL, a answer) (*url.URL, error) {
	to, err := from.Parse(a.header.Get("Location"))
	if a.header.Get("Location") == "" || err != nil || to.Scheme != "http" && to.Scheme != "https" {
		return nil, &fetchError{fmt.Sprintf("answered %d without a usable address", a.status)}
	}
	return to, nil
}

// call is a request of a fetcher.
type call struct {
	method  string
	address *url.URL
	header  http.Header
	body    []byte
}

// once makes a request and reads at most so many bytes of the answer. Errors: as get.
func (f *fetcher) once(ctx context.Context, c call, most int64) (answer, error) {
	if err := f.turn(ctx); err != nil {
		return answer{}, err
	}
	if err := f.countRequest(); err != nil {
		return answer{}, err
	}
	if !f.overlap {
		defer func() { f.pause(f.delay) }()
	}
	req, err := http.NewRequestWithContext(ctx, c.method, c.address.String(), bytes.NewReader(c.body))
	if err != nil {
		return answer{}, &fetchError{"the address cannot be used"}
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", UserAgent)
	res, err := f.client.Do(req)
	if err != nil {
		return answer{}, f.failure(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	a := answer{status: res.StatusCode, header: res.Header}
	a.body, err = io.ReadAll(io.LimitReader(res.Body, most+1))
	spent := f.countBytes(int64(len(a.body)))
	switch {
	case err != nil:
		return a, f.failure(ctx, err)
	case spent != nil:
		return a, spent
	case int64(len(a.body)) > most:
		return a, &fetchError{fmt.Sprintf("has more than %d bytes", most)}
	}
	return a, nil
}

// failure returns why a request failed, without what is known of the operator's network.
func (f *fetcher) failure(ctx context.Context, err error) error {
	var refused *fault.Error
	var known *fetchError
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused):
		return &finalError{&fetchError{refused.Message}}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &fetchError{fmt.Sprintf("no complete answer within %v", requestTimeout)}
	case errors.As(err, &dns):
		return &fetchError{"the name of the host was not found"}
	}
	return &fetchError{"the connection failed"}
}

// sleep waits, or returns the cause for which ctx ended.
func sleep(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// stateOf returns the state of what has just been read with a header.
func stateOf(header http.Header) State {
	return State{Known: true, ETag: validator(header, "ETag"), LastModified: validator(header, "Last-Modified")}
}

// validator returns a header that a later request can name; empty if it is too long to keep.
func validator(header http.Header, name string) string {
	if value := header.Get(name); len(value) <= maxReasonBytes {
		return value
	}
	return ""
}

// addTo makes a request conditional on a change since the state. It reports whether it could.
func (s State) addTo(header http.Header) bool {
	if s.ETag != "" {
		header.Set("If-None-Match", s.ETag)
	}
	if s.LastModified != "" {
		header.Set("If-Modified-Since", s.LastModified)
	}
	return s.ETag != "" || s.LastModified != ""
}
