package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect"

	ragd "github.com/ragdhq/ragd/sdk/go"
)

// Limits of retries. Each attempt has a time limit, so that a connection that died
// silently is noticed.
const (
	attemptTimeout = time.Minute
	patience       = 2 * time.Minute // for failures in a row
	firstPause     = 100 * time.Millisecond
	longestPause   = 5 * time.Second
)

// gaveUpError is an error that was retried until patience ran out.
type gaveUpError struct{ cause error }

func (e *gaveUpError) Error() string {
	return fmt.Sprintf("gave up after retrying for %v: %v", patience, e.cause)
}

func (e *gaveUpError) Unwrap() error { return e.cause }

// Retry calls call until it succeeds or fails with a permanent error. Transient errors
// are those of a service that is unavailable, restarting or busy, and lost races. It
// pauses as long as the service asks for, else longer each time, and gives up when that
// would take more than two minutes. retrying, if not nil, is called with each error before
// the pause. call must be safe to repeat.
func Retry(ctx context.Context, retrying func(error), call func(context.Context) error) error {
	return retry(ctx, attemptTimeout, retrying, func(ctx context.Context) (bool, error) { return false, call(ctx) })
}

// retry is Retry with a time limit for each attempt. The two minutes start again with each
// failed attempt that advanced.
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
	var wire *connect.Error
	if !errors.As(err, &wire) && !errors.Is(err, io.EOF) { // nil, or an error of the client's side
		return errors.Is(err, context.DeadlineExceeded)
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeResourceExhausted, connect.CodeAborted, connect.CodeDeadlineExceeded:
		return true
	case connect.CodeCanceled:
		// Not cancelled by our ctx: net/http reports a broken connection this way.
		return true
	case connect.CodeUnknown, connect.CodeInternal:
		// The answer broke off; it is not an error that the service sent.
		return !connect.IsWireError(err)
	}
	return false
}

// askedPause returns the pause that the service asks for, 0 if it asks for none.
func askedPause(err error) time.Duration {
	var refused *ragd.Error
	if !errors.As(ragd.ErrorOf(err), &refused) {
		return 0
	}
	return refused.RetryAfter
}
