package access

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Recheck returns an error if the credential of the request in the context is no longer
// valid, for calls that last: what is open when a key is revoked must end. The errors are
// those of Middleware.
func Recheck(ctx context.Context) error {
	if r, ok := FromContext(ctx); ok && r.recheck != nil {
		return r.recheck(ctx)
	}
	return nil
}

// WhileValid returns a context that ends when a check says that the credential is no longer
// valid, with the error of the check as its cause. It runs check at intervals until the
// context or stop ends it. An error that says nothing about the credential, such as that of
// a database that does not answer, does not end the context.
func WhileValid(ctx context.Context, every time.Duration, check func(context.Context) error) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if err := check(ctx); isInvalid(err) {
					cancel(err)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// isInvalid reports whether the error of a check says that the credential is not valid.
func isInvalid(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unauthenticated, fault.Denied, fault.NotFound:
		return err != nil
	}
	return false
}
