package subprocess

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A file is late by the processor time that its child has used, not by the time that the machine has let it wait.
func TestTheTimeOfAFileIsThatOfItsChild(t *testing.T) {
	t.Parallel()
	const timeout = time.Minute
	share := func(n time.Duration) func(time.Duration) (time.Duration, error) {
		return func(passed time.Duration) (time.Duration, error) { return time.Hour + passed/n, nil }
	}
	unknown := func(time.Duration) (time.Duration, error) { return 0, errors.ErrUnsupported }
	for _, tc := range []struct {
		name  string
		used  func(passed time.Duration) (time.Duration, error)
		waits bool
		after time.Duration
		cause error
	}{
		{"alone", share(1), false, timeout, errLate},
		{"a third of a processor", share(3), false, 3 * timeout, errLate},
		{"hardly any", share(1000), false, patience, errBusy},
		{"the system does not tell", unknown, false, timeout, errLate},
		{"another program reads it", share(3), true, timeout, errLate},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				ctx, cancel := within(t.Context(), timeout, tc.waits, func() (time.Duration, error) { return tc.used(time.Since(begin)) })
				defer cancel()
				<-ctx.Done()
				if passed := time.Since(begin).Round(time.Second); passed != tc.after || !errors.Is(context.Cause(ctx), tc.cause) {
					t.Errorf("ended after %v with %v, want %v and %v", passed, context.Cause(ctx), tc.after, tc.cause)
				}
			})
		})
	}
}
