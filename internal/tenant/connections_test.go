package tenant

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/ragdhq/ragd/internal/fault"
)

func TestATenantHasOnlySoManyConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnections(2)
		acquire := func(ctx context.Context, id ID) func() {
			t.Helper()
			release, err := c.acquire(ctx, id)
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			return release
		}
		first, second := acquire(t.Context(), "acme"), acquire(t.Context(), "acme")
		acquire(t.Context(), "bolt")() // another tenant is not held up

		if _, err := c.acquire(t.Context(), "acme"); fault.KindOf(err) != fault.Exhausted {
			t.Errorf("a third connection: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.acquire(gone, "acme"); fault.KindOf(err) != fault.Canceled {
			t.Errorf("a caller who left: %v", err)
		}
		waited := make(chan struct{})
		go func() {
			acquire(t.Context(), "acme")()
			close(waited)
		}()
		synctest.Wait()
		first()
		<-waited
		second()
		if used := c.limiter.Used("acme"); used != 0 {
			t.Errorf("%d connections are used by nobody", used)
		}
	})
}
