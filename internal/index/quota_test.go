package index_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestTheQuotaOfIndexesHoldsForConcurrentCreations(t *testing.T) {
	t.Parallel()
	const quota = 4
	s := servicetest.New(t, service.Config{NoWorkers: true, MaxIndexes: quota})
	c, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	var created atomic.Int32
	var calls sync.WaitGroup
	for n := range 3 * quota {
		calls.Go(func() {
			_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: fmt.Sprint("docs", n)})
			switch {
			case err == nil:
				created.Add(1)
			case connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), "may have 4: delete one"):
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := created.Load(); n != quota {
		t.Errorf("%d indexes were created, want %d", n, quota)
	}
	listed, err := c.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
	must(t, err)
	if len(listed.IndexNames) != quota {
		t.Errorf("the indexes are %v", listed.IndexNames)
	}
	c.Index(t, listed.IndexNames[0]) // exists already: no new index
	other.Index(t, "docs")           // another tenant has a quota of its own
	_, err = c.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: listed.IndexNames[0]})
	must(t, err)
	c.Index(t, "another")
}

func TestATenantMayHaveItsOwnQuotaOfIndexes(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MaxIndexes: 1})
	c, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	set := func(value any) error {
		settings, err := structpb.NewStruct(map[string]any{"maxIndexes": value, "plan": "gold"})
		must(t, err)
		_, err = s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: settings})
		return err
	}
	for _, invalid := range []any{"many", -1, 0, 1.5, 1e12, nil} {
		if err := set(invalid); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "settings.maxIndexes") {
			t.Errorf("a quota of %v: %v", invalid, err)
		}
	}
	must(t, set(2))
	c.Index(t, "a")
	c.Index(t, "b")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "c"}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("beyond its own quota: %v", err)
	}
	other.Index(t, "a")
	if _, err := other.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "b"}); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("another tenant, beyond the standard quota: %v", err)
	}
}
