package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// Attempts are bounded so that a connection that died silently is noticed; what
// was in it can be sent again, because every call here may be repeated.
const (
	attemptTimeout = time.Minute
	patience       = 2 * time.Minute // of failures in a row
	firstPause     = 100 * time.Millisecond
	longestPause   = 5 * time.Second
)

// gaveUpError is a failure that was retried for as long as patience lasts.
type gaveUpError struct{ cause error }

func (e *gaveUpError) Error() string {
	return fmt.Sprintf("gave up after retrying for %v: %v", patience, e.cause)
}

func (e *gaveUpError) Unwrap() error { return e.cause }

// Retry calls call, again and again while its error is one that passes: a service
// that is unavailable, restarting or busy, or a race that was lost. It pauses as
// long as the service asks for, else longer each time, and gives up when that
// would take more than two minutes. retrying is told of each failure before the
// pause; it may be nil. call must be safe to repeat.
func Retry(ctx context.Context, retrying func(error), call func(context.Context) error) error {
	return retry(ctx, attemptTimeout, retrying, func(ctx context.Context) (bool, error) { return false, call(ctx) })
}

// retry is Retry with a time limit for each attempt. Its patience begins anew with
// every attempt that, although it failed, advanced.
func retry(ctx context.Context, timeout time.Duration, retrying func(error), call func(context.Context) (advanced bool, err error)) error {
	deadline := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		attempt, cancel := context.WithTimeout(ctx, timeout)
		advanced, err := call(attempt)
		cancel()
		if ctx.Err() != nil || !transient(err) {
			return err
		}
		if advanced {
			deadline, pause = time.Now().Add(patience), firstPause
		}
		// Between half and all of the pause, so that workers spread out.
		wait := max(pause/2+rand.N(pause/2+1), askedPause(err))
		if time.Now().Add(wait).After(deadline) {
			return &gaveUpError{err}
		}
		if retrying != nil {
			retrying(err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// transient reports whether the same call may succeed later.
func transient(err error) bool {
	var said *connect.Error
	if !errors.As(err, &said) && !errors.Is(err, io.EOF) { // nil, or an error of our own side
		return errors.Is(err, context.DeadlineExceeded)
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeResourceExhausted, connect.CodeAborted, connect.CodeDeadlineExceeded:
		return true
	case connect.CodeCanceled:
		// It was not us, or Retry would have stopped: net/http says so of a request
		// whose connection broke.
		return true
	case connect.CodeUnknown, connect.CodeInternal:
		// An answer that broke off, not one that the service gave.
		return !connect.IsWireError(err)
	}
	return false
}

// askedPause returns how long the service asks to wait, 0 if it does not say.
func askedPause(err error) time.Duration {
	var wire *connect.Error
	if !errors.As(err, &wire) {
		return 0
	}
	for _, detail := range wire.Details() {
		value, err := detail.Value()
		if info, ok := value.(*errdetails.RetryInfo); err == nil && ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	seconds, err := strconv.Atoi(wire.Meta().Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
