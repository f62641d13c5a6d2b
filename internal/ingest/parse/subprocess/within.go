package subprocess

import (
	"context"
	"errors"
	"time"
)

// patience is how long a file may take on a machine that has little processor time for its child.
const patience = 10 * time.Minute

// Causes of the end of a context of within.
var (
	errLate = errors.New("the file takes too long")
	errBusy = errors.New("the machine has too little time for the file")
)

// within returns a context that ends when the file has taken too long: when used, the processor time of the process that
// reads it, has grown by timeout, so that no file is refused because the machine is busy; and after patience.
// If used does not know, the time that passes counts, as it does for a file that another program reads (waits).
func within(ctx context.Context, timeout time.Duration, waits bool, used func() (time.Duration, error)) (context.Context, context.CancelFunc) {
	if waits {
		return context.WithTimeoutCause(ctx, timeout, errLate)
	}
	ctx, stop := context.WithTimeoutCause(ctx, patience, errBusy)
	ctx, end := context.WithCancelCause(ctx)
	before, err := used()
	go func() {
		const step = 10 * time.Millisecond // in which Linux counts
		for left := timeout; left > 0; {
			timer := time.NewTimer(max(left, step))
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			if err != nil {
				break
			}
			now, err := used()
			if err != nil {
				return // it has ended
			}
			left = timeout - (now - before)
		}
		end(errLate)
	}()
	return ctx, func() {
		end(context.Canceled)
		stop()
	}
}
