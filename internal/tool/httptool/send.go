package httptool

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// Pauses between attempts.
const (
	minPause = 200 * time.Millisecond
	maxPause = 5 * time.Second
)

// answer is what an endpoint answered.
type answer struct {
	status int
	header http.Header
	body   []byte
	cut    bool // the body is longer than the tool allows
}

// attempts sends requests until one is answered for good, an attempt fails that must not be
// repeated, or the retries are used up. A pause that would outlast ctx is not begun.
func (d *Definition) attempts(ctx context.Context, send func(context.Context) (*answer, error)) (*answer, error) {
	for n := 0; ; n++ {
		got, err := send(ctx)
		if n >= d.retries || ctx.Err() != nil || !passing(got, err) {
			return got, err
		}
		pause := max(retryAfter(got, time.Now()), pauseBefore(n))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
			return got, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return got, err
		}
	}
}

// pauseBefore returns the pause after the n-th attempt, from 0: twice as long each time, of
// which a random half.
func pauseBefore(n int) time.Duration {
	pause := min(minPause<<n, maxPause)
	return pause/2 + rand.N(pause/2)
}

// passing reports whether another attempt may succeed: there was no answer, or one that says
// so. An address that the guard refuses stays refused.
func passing(got *answer, err error) bool {
	if err != nil {
		return fault.KindOf(err) == fault.Unavailable
	}
	switch got.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter returns the time in the header Retry-After, in seconds or as a date; 0 without.
func retryAfter(got *answer, now time.Time) time.Duration {
	if got == nil {
		return 0
	}
	text := got.header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// fetch sends a request and reads its answer, at most as many bytes after decompression as the
// tool allows. Errors: those of remote.Unreachable; Exhausted for an answer that takes too much
// memory; Precondition for events without a result.
func (d *Definition) fetch(client *http.Client, r *http.Request, events *streamReader) (*answer, error) {
	limit := d.settings.Response.MaxBytes
	response, err := client.Do(r)
	if err != nil {
		return nil, unreachable(r, err)
	}
	defer response.Body.Close()
	a := &answer{status: response.StatusCode, header: response.Header}
	media := mediaType(a)
	streams := d.streams(a)
	metered := remote.Metered(r.Context(), response.Body, media == "" || isJSON(media) || streams)
	if streams {
		err := d.fetchStream(a, metered, events)
		if known := new(fault.Error); err == nil || errors.As(err, &known) {
			return a, err
		}
		return nil, unreachable(r, err)
	}
	body, err := io.ReadAll(io.LimitReader(metered, int64(limit)+1))
	if fault.KindOf(err) == fault.Exhausted {
		return nil, err
	}
	if err != nil {
		return nil, unreachable(r, err)
	}
	a.body = body
	if len(body) > limit {
		a.body, a.cut = body[:limit], true
	}
	return a, nil
}

// unreachable returns the error for a request without an answer. An end of its context stays
// what it is.
func unreachable(r *http.Request, err error) error {
	if cause := r.Context().Err(); cause != nil {
		return cause
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return remote.Unreachable(r.URL.Host, err)
}
