package tenant

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/ragdhq/ragd/internal/fault"
)

func TestATenantHasOnlyItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShares(2)
		take := func(ctx context.Context, id ID) func() {
			t.Helper()
			release, err := s.take(ctx, id)
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			return release
		}
		first, second := take(t.Context(), "acme"), take(t.Context(), "acme")
		take(t.Context(), "bolt")() // another tenant is not held up

		if _, err := s.take(t.Context(), "acme"); fault.KindOf(err) != fault.Exhausted {
			t.Errorf("a third place: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.take(gone, "acme"); fault.KindOf(err) != fault.Canceled {
			t.Errorf("a caller who left: %v", err)
		}
		waited := make(chan struct{})
		go func() {
			take(t.Context(), "acme")()
			close(waited)
		}()
		synctest.Wait()
		first()
		<-waited
		second()
		if len(s.held) != 0 {
			t.Errorf("%d shares are kept for nobody", len(s.held))
		}
	})
}
