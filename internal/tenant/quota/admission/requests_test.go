package admission

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

func TestRequestsOfATenantAtOnceAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{ConcurrentRequests: 2})
		begin := func(of tenant.ID, own int) (func(), error) {
			return g.Begin(t.Context(), of, quota.Limits{ConcurrentRequests: own})
		}
		end, err := begin("acme", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := begin("acme", 0); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, end)
		if _, err := begin("acme", 0); err != nil {
			t.Errorf("not admitted when a request had ended: %v", err)
		}
		if _, err := begin("acme", 0); fault.KindOf(err) != fault.Exhausted {
			t.Errorf("a request too many: %v", err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.Begin(cancelled, "acme", quota.Limits{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that was given up: %v", err)
		}
		if _, err := begin("acme", 3); err != nil {
			t.Errorf("a quota of its own: %v", err)
		}
		if _, err := begin("bolt", 0); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		if _, err := g.BeginStream(t.Context(), "acme", quota.Limits{}); err != nil {
			t.Errorf("a stream: %v", err)
		}
	})
}

func TestTheRateOfATenantIsLimited(t *testing.T) {
	t.Parallel()
	g := New(Config{RequestsPerSecond: 1})
	refused := func(of tenant.ID, own, calls int) (last error) {
		for range calls {
			last = g.Count(of, quota.Limits{RequestsPerSecond: own}, 1)
		}
		return last
	}
	if err := refused("acme", 0, 2); err != nil {
		t.Fatalf("a burst of twice the rate: %v", err)
	}
	var over *fault.Error
	if err := refused("acme", 0, 3); fault.KindOf(err) != fault.Exhausted || !errors.As(err, &over) || over.RetryAfter <= 0 {
		t.Errorf("over the rate: %v", err)
	}
	if err := refused("bolt", 0, 2); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if err := refused("corp", 10, 20); err != nil {
		t.Errorf("a quota of its own: %v", err)
	}
	if err := refused("corp", 1, 3); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("a lowered quota: %v", err)
	}
	if err := g.Count("dune", quota.Limits{RequestsPerSecond: 5}, 100); err != nil {
		t.Errorf("more than a burst at once, which could never be allowed: %v", err)
	}
	if err := refused("dune", 5, 1); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("after it: %v", err)
	}
	if err := New(Config{}).Count("acme", quota.Limits{}, 1); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

// Web pages leave requests of their tenant to its programs, and one page leaves the rate of its key.
func TestPagesLeaveRequestsToPrograms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{ConcurrentRequests: 3, PageRequestsPerSecond: 2})
		page := func(of tenant.ID, key string) error {
			_, err := g.OfPage(key)(t.Context(), of, quota.Limits{})
			return err
		}
		for _, key := range []string{"a", "b"} {
			if err := page("acme", key); err != nil {
				t.Fatal(err)
			}
		}
		if err := page("acme", "a"); fault.KindOf(err) != fault.Exhausted {
			t.Errorf("pages have more than half of the tenant's requests running: %v", err)
		}
		if _, err := g.Begin(t.Context(), "acme", quota.Limits{}); err != nil {
			t.Errorf("a program: %v", err)
		}
		if err := page("bolt", "a"); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		end, err := g.Begin(t.Context(), "corp", quota.Limits{ConcurrentRequests: 1})
		if err != nil {
			t.Fatal(err)
		}
		begin := g.OfPage("a")
		if _, err := begin(t.Context(), "corp", quota.Limits{ConcurrentRequests: 1}); fault.KindOf(err) != fault.Exhausted {
			t.Errorf("over the tenant's own limit: %v", err)
		}
		end()
		if _, err := begin(t.Context(), "corp", quota.Limits{ConcurrentRequests: 1}); err != nil { // the one that was refused holds nothing
			t.Errorf("a page of a tenant with one request at once: %v", err)
		}

		rated := New(Config{PageRequestsPerSecond: 2})
		ask := func(key string, times int) (last error) {
			for range times {
				end, err := rated.OfPage(key)(t.Context(), "acme", quota.Limits{})
				if last = err; err == nil {
					end()
				}
			}
			return last
		}
		if err := ask("a", 4); err != nil {
			t.Errorf("a burst: %v", err)
		}
		var over *fault.Error
		if err := ask("a", 1); fault.KindOf(err) != fault.Exhausted || !errors.As(err, &over) || over.RetryAfter <= 0 {
			t.Errorf("over the rate of the key: %v", err)
		}
		if err := ask("b", 4); err != nil {
			t.Errorf("another key: %v", err)
		}
		<-time.After(time.Second) // of the bubble
		if err := ask("a", 2); err != nil {
			t.Errorf("a second later: %v", err)
		}
	})
}
