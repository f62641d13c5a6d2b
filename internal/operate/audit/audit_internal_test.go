package audit

import (
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// A tenant that makes changes without end is told to wait, and keeps no other from making some.
func TestActionsOfATenantAreBounded(t *testing.T) {
	t.Parallel()
	l, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var refused *fault.Error
	for i := range actionBurst + 1000 {
		if err := l.admit("acme"); err != nil {
			refused = err.(*fault.Error) //nolint:errorlint // it is one
			if i < actionBurst {
				t.Fatalf("action %d: %v", i, err)
			}
			break
		}
	}
	if refused == nil || refused.Kind != fault.Exhausted || refused.RetryAfter <= 0 || refused.RetryAfter > time.Second {
		t.Errorf("too many actions: %+v", refused)
	}
	if err := l.admit("bolt"); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}
