package toolset

import (
	"context"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// A list that was loaded before a tool was created is not cached after it: clients would not see
// the tool until the list expires.
func TestWhatWasLoadedBeforeAChangeIsNotCached(t *testing.T) {
	t.Parallel()
	of := func(id tenant.ID) context.Context {
		return access.NewContext(t.Context(), &access.Request{Tenant: id})
	}
	for name, changed := range map[string]tenant.ID{"of one tenant": "acme", "of all tenants": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newByCaller[string]()
			asked := time.Now()
			c.forget(changed)
			c.put(of("acme"), "old", asked)
			if got, ok := c.get(of("acme")); ok {
				t.Errorf("cached %q", got)
			}
			c.put(of("globex"), "old", asked)
			if _, ok := c.get(of("globex")); ok == (changed == "") {
				t.Errorf("of another tenant: %t", ok)
			}
			c.put(of("acme"), "new", time.Now())
			if got, ok := c.get(of("acme")); !ok || got != "new" {
				t.Errorf("after a new load: %q, %t", got, ok)
			}
			c.forget(changed)
			if got, ok := c.get(of("acme")); ok {
				t.Errorf("after another change: %q", got)
			}
		})
	}
}
