package usage_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// newMeter returns a Meter on the database of a service.
func newMeter(t *testing.T, s *servicetest.Service) *usage.Meter {
	t.Helper()
	m, err := usage.NewMeter(usage.Config{Control: s.ServicePool, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// total returns the calls and tokens of a tenant, "" for all.
func total(t *testing.T, s *servicetest.Service, tenant string) (calls, tokens int64) {
	t.Helper()
	err := s.Pool.QueryRow(t.Context(), `SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(input_tokens + output_tokens), 0)::bigint FROM ragd.usage WHERE tenant_id = $1`, tenant).Scan(&calls, &tokens)
	if err != nil {
		t.Fatal(err)
	}
	return calls, tokens
}

// Instances that count the same at the same time add to the same rows and lose nothing.
func TestInstancesAddUp(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	s.Tenant(t, "bolt")
	const instances, rounds = 4, 25
	var group sync.WaitGroup
	for range instances {
		m := newMeter(t, s)
		for range 2 {
			group.Go(func() {
				for range rounds {
					for _, id := range []string{"acme", "bolt"} {
						m.Add(usage.InIndex(t.Context(), "docs"), id, usage.Query, usage.Counts{Calls: 1})
						m.Count(t.Context(), id, endpoint.Chat, "openai/x", 2, 3)
					}
					if err := m.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	for _, id := range []string{"acme", "bolt"} {
		if calls, tokens := total(t, s, id); calls != 2*2*instances*rounds || tokens != 5*2*instances*rounds {
			t.Errorf("%s: %d calls, %d tokens", id, calls, tokens)
		}
	}
}

// Counts that the database did not take are written later, once.
func TestCountsOutliveAFailedFlush(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	m := newMeter(t, s)
	m.Count(t.Context(), "acme", endpoint.Rerank, "cohere/x", 7, 0)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Flush(gone); err == nil {
		t.Error("a flush without time succeeds")
	}
	for range 2 {
		if err := m.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if calls, tokens := total(t, s, "acme"); calls != 1 || tokens != 7 {
			t.Errorf("%d calls, %d tokens", calls, tokens)
		}
	}
}

// A count that the first database refuses keeps no other from being written.
func TestARefusedCountIsDroppedAlone(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	s.Tenant(t, "bolt")
	var logged bytes.Buffer
	m, err := usage.NewMeter(usage.Config{Control: s.ServicePool, Logger: slog.New(slog.NewTextHandler(&logged, nil)), Now: func() time.Time { return time.Now().Add(time.Second) }})
	if err != nil {
		t.Fatal(err)
	}
	m.Add(t.Context(), "acme", "bogus", usage.Counts{Calls: 1})
	m.Add(usage.InIndex(t.Context(), "a\x00b"), "acme", usage.Query, usage.Counts{Calls: 1})
	for _, index := range []string{"a", "b", "c", "d", "e"} {
		m.Add(usage.InIndex(t.Context(), index), "bolt", usage.Query, usage.Counts{Calls: 1})
		m.Add(usage.InIndex(t.Context(), index), "acme", usage.Query, usage.Counts{Calls: 1})
	}
	for range 2 {
		if err := m.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"acme", "bolt"} {
			if calls, _ := total(t, s, id); calls != 5 {
				t.Errorf("%s has %d calls", id, calls)
			}
		}
	}
	if lines := strings.Count(logged.String(), "was dropped"); lines != 2 {
		t.Errorf("logged %q", &logged)
	}
}

// What a deleted tenant used does not count for a new one of its name, and does not keep that of
// others from being written.
func TestUsageOfADeletedTenantIsDropped(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	s.Tenant(t, "bolt")
	m := newMeter(t, s)
	for _, id := range []string{"acme", "bolt", "nobody"} {
		m.Add(usage.InIndex(t.Context(), "secret"), id, usage.Query, usage.Counts{Calls: 1})
	}
	if _, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"}); err != nil {
		t.Fatal(err)
	}
	s.Tenant(t, "acme")
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if calls, _ := total(t, s, "acme"); calls != 0 {
		t.Error("the new tenant has the use of the old one")
	}
	if calls, _ := total(t, s, "bolt"); calls != 1 {
		t.Errorf("the other tenant has %d calls", calls)
	}
}

// A service writes what was used before it ends.
func TestUsageIsWrittenAtTheEnd(t *testing.T) {
	t.Parallel()
	keep := servicetest.New(t, service.Config{NoWorkers: true})
	acme := keep.Tenant(t, "acme")
	acme.Index(t, "docs")
	t.Run("a service that ends", func(t *testing.T) {
		s := servicetest.New(t, service.Config{NoWorkers: true, AdminPool: keep.Pool})
		if _, err := s.Client(acme.Secret).VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "x"}); err != nil {
			t.Fatal(err)
		}
	})
	if calls, _ := total(t, keep, "acme"); calls != 1 {
		t.Errorf("%d searches were written", calls)
	}
}

func TestOldRowsAreDeleted(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	for age, calls := range map[string]int{"39 days": 1, "41 days": 2} {
		if _, err := s.Pool.Exec(t.Context(), `INSERT INTO ragd.usage (tenant_id, hour, index_name, stage, model, calls) VALUES ('acme', now() - $1::interval, '', 'query', '', $2)`, age, calls); err != nil {
			t.Fatal(err)
		}
	}
	m, err := usage.NewMeter(usage.Config{Control: s.ServicePool, Retention: 40 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if calls, _ := total(t, s, "acme"); calls != 1 {
		t.Errorf("%d calls are left", calls)
	}
	if _, err := usage.NewMeter(usage.Config{Retention: time.Hour}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a retention of an hour: %v", err)
	}
}
