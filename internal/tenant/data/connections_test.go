package data

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
)

// A tenant alone has all its connections. While another is active too, it has fewer, and
// soon after that all again.
func TestATenantLeavesConnectionsToActiveOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnections(8, 8)
		most := func(id tenant.ID) (n int) {
			var taken []func()
			for {
				brief, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				release, err := c.acquire(brief, id)
				cancel()
				if err != nil {
					break
				}
				taken = append(taken, release)
			}
			for _, release := range taken {
				release()
			}
			return len(taken)
		}
		if n := most("acme"); n != 8 {
			t.Errorf("alone it has %d of 8", n)
		}
		if n := most("bolt"); n != 6 {
			t.Errorf("a second active tenant has %d, want 6", n)
		}
		if n := most("acme"); n != 6 {
			t.Errorf("with another active it has %d, want 6", n)
		}
		wait.Advance(recentFor)
		if n := most("acme"); n != 8 {
			t.Errorf("alone again it has %d of 8", n)
		}
	})
}

func TestATenantHasOnlySoManyConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnections(2, 2)
		acquire := func(ctx context.Context, id tenant.ID) func() {
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
