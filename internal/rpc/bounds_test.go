package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/testing/servicetest"
)

func names(list ...string) *ragdv1.AllowedNames { return &ragdv1.AllowedNames{Names: list} }

// A key can only create keys within its own bounds, and manage those.
func TestKeysAreCreatedWithinTheBoundsOfTheirCreator(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	ctx := t.Context()
	attributes := servicetest.Object(t, map[string]any{"team": "legal", "level": 3.0, "groups": []any{"a", "b"}})
	made, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{
		Scopes: []string{"admin"}, Indexes: names("faq", "handbook", "faq"), Prompts: names(), Attributes: attributes,
	})
	if err != nil {
		t.Fatal(err)
	}
	bound := s.Client(made.Secret)
	inherited, err := bound.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{})
	if err != nil {
		t.Fatal(err)
	}
	narrower, err := bound.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{Indexes: names("faq"), Tools: names("search")})
	if err != nil {
		t.Fatal(err)
	}
	for what, req := range map[string]*ragdv1.CreateApiKeyRequest{
		"another index": {Indexes: names("faq", "secret")}, "a prompt": {Prompts: names("p")},
	} {
		_, err := bound.CreateApiKey(ctx, req)
		servicetest.WantCode(t, what, err, connect.CodePermissionDenied)
	}
	for what, req := range map[string]*ragdv1.CreateApiKeyRequest{
		"an empty name": {Indexes: names("")}, "large attributes": {Attributes: servicetest.Object(t, map[string]any{"a": strings.Repeat("x", 4<<10)})},
	} {
		_, err := acme.CreateApiKey(ctx, req)
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	}
	_, err = s.Operator().CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{Scopes: []string{"operator"}, Indexes: names("faq")})
	servicetest.WantCode(t, "a bound operator", err, connect.CodeInvalidArgument)

	list, err := bound.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := []*ragdv1.ApiKey{
		{ApiKeyId: narrower.ApiKey.ApiKeyId, Indexes: names("faq"), Tools: names("search"), Prompts: names()},
		{ApiKeyId: inherited.ApiKey.ApiKeyId, Indexes: names("faq", "handbook"), Prompts: names()},
		{ApiKeyId: made.ApiKey.ApiKeyId, Indexes: names("faq", "handbook"), Prompts: names(), Attributes: attributes},
	}
	ignored := protocmp.IgnoreFields(&ragdv1.ApiKey{}, "tenant_id", "prefix", "scopes", "create_time")
	if diff := cmp.Diff(want, list.ApiKeys, protocmp.Transform(), ignored); diff != "" {
		t.Errorf("the bound admin's list (-want +got):\n%s", diff)
	}
	_, err = bound.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: acme.Secret})
	servicetest.WantCode(t, "revoking an unbound key", err, connect.CodeNotFound)
	if _, err := bound.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: narrower.ApiKey.ApiKeyId}); err != nil {
		t.Errorf("revoking a narrower key: %v", err)
	}
}
