package rpc_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
)

// A tenant with something of everything is put to sleep and wakes with its first call. All rows are the same as before.
func TestATenantWithEverythingSleeps(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{
		AllowedPrivateNetworks: thisMachine, MasterKeys: masterKeys(t, "1"), Sleep: sleep.StoreConfig{Place: t.TempDir()},
		Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}},
	})
	const name = "lull"
	_, secret := fullTenant(t, s, name, "apricot")
	c := s.Client(secret)
	before := tenantRows(t, s, name, []string{}) // waits until nothing changes
	wait.For(t, "the end of the tenant's work", func() bool {
		_, err := s.Operator().SleepTenant(t.Context(), &ragdv1.SleepTenantRequest{TenantId: name})
		if connect.CodeOf(err) != connect.CodeFailedPrecondition {
			noError(t, err)
		}
		return err == nil
	})
	wait.For(t, "the tenant to wake", func() bool {
		_, err := c.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
		if connect.CodeOf(err) != connect.CodeUnavailable {
			noError(t, err)
		}
		return err == nil
	})
	if diff := cmp.Diff(before, tenantRows(t, s, name, []string{})); diff != "" {
		t.Errorf("rows before and after (-before +after):\n%s", diff)
	}
}
