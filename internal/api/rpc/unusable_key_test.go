package rpc_test

import (
	"slices"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A key whose mandatory filter another version of the service stored, with what this one does not read, is refused, listed with the
// reason to those without a filter, and can be revoked.
func TestAKeyWhoseFilterCannotBeRead(t *testing.T) {
	t.Parallel()
	pool := schematest.Pool(t)
	s := servicetest.New(t, service.Config{AdminPool: pool})
	ctx := t.Context()
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	filter := servicetest.Object(t, map[string]any{"team": "blue"})
	broken := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", DisplayName: "broken", Scopes: []string{"read"}, MandatoryFilter: filter})
	narrow := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", DisplayName: "narrow", Scopes: []string{"admin"}, MandatoryFilter: filter}))
	if _, err := pool.Exec(ctx, `UPDATE ragd.api_keys SET mandatory_filter = '{"team": {"$sounds": "blue"}}' WHERE display_name = 'broken'`); err != nil {
		t.Fatal(err)
	}
	_, err := s.Client(broken).ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
	servicetest.WantCode(t, "a call with the key", err, connect.CodeInternal)

	listed := func(c servicetest.Client) map[string]*ragdv1.ApiKey {
		t.Helper()
		list, err := c.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{})
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]*ragdv1.ApiKey{}
		for _, key := range list.ApiKeys {
			keys[key.DisplayName] = key
		}
		return keys
	}
	keys := listed(acme)
	if key := keys["broken"]; len(keys) < 3 || key.GetUnusableReason() == "" || key.MandatoryFilter != nil || !slices.Equal(key.Scopes, []string{"read"}) {
		t.Errorf("listed %v", keys)
	}
	if key := keys["narrow"]; key.GetUnusableReason() != "" || key.GetMandatoryFilter() == nil {
		t.Errorf("a key with a filter that is read: %v", key)
	}
	if key, ok := listed(narrow)["broken"]; ok {
		t.Errorf("a key with a mandatory filter sees %v", key)
	}
	_, err = narrow.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: keys["broken"].GetApiKeyId()})
	servicetest.WantCode(t, "revoked by a key with a mandatory filter", err, connect.CodeNotFound)
	if _, err := acme.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: keys["broken"].GetApiKeyId()}); err != nil {
		t.Error(err)
	}
	if key := listed(acme)["broken"]; key.GetRevokeTime() == nil {
		t.Errorf("revoked: %v", key)
	}
}
