package rpc_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/reseal"
	"github.com/ragdhq/ragd/internal/secure/identity"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// notSealed are the columns of bytes that have no sealed secrets. Schemas of tenants are called
// tenant here.
var notSealed = []string{
	"ragd.api_keys.secret_hash",
	"ragd.console_sessions.credential", // the key is derived from the browser's cookie
	"ragd.console_sessions.owner",
	"ragd.console_sessions.secret_hash",
	"ragd.idempotent_calls.answer", // of calls that show no secret, for a day
	"ragd.idempotent_calls.call_hash",
	"ragd.idempotent_calls.request_hash",
	"ragd.imports.chain",                // a checksum
	"ragd.secrets.value",                // keys of the instances, which no tenant gave
	"ragd.signing_keys.public_key",      // published
	"ragd_shared.alert_matches.passage", // of a hash
	"ragd.sleeps.sealed_key",            // what is sealed in the archive needs the key too: see reseal.Service.Run
	"ragd_shared.connector_tokens.state_hash",
	"ragd_shared.feedback.caller_hash",
	"ragd_shared.file_contents.content",
	"ragd_shared.mcp_messages.body", // of a client to its call, for some minutes
	"ragd_shared.mcp_messages.session_hash",
	"ragd_shared.mcp_sessions.owner_hash",
	"ragd_shared.mcp_sessions.session_hash",
	"ragd_shared.tool_tasks.owner_hash",
	"tenant.document_contents.content",
	"tenant.documents.content_sha256",
}

// A new column of bytes belongs to reseal's lists or to notSealed.
func TestEverySealedColumnIsReencrypted(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	want := slices.Clone(notSealed)
	for _, c := range slices.Concat(reseal.OfTenants, reseal.OfService) {
		want = append(want, c.Table+"."+c.Name)
	}
	slices.Sort(want)
	rows, err := s.Pool.Query(t.Context(), `
		SELECT DISTINCT CASE WHEN table_schema LIKE 'tenant\_%' THEN 'tenant' ELSE table_schema END || '.' || table_name || '.' || column_name
		FROM information_schema.columns
		WHERE data_type IN ('bytea', 'ARRAY') AND udt_name IN ('bytea', '_bytea')
			AND (table_schema IN ('ragd', 'ragd_shared') OR table_schema LIKE 'tenant\_%') AND table_name NOT LIKE 'river%'`)
	if err != nil {
		t.Fatal(err)
	}
	have, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("columns of bytes (-listed +in the database):\n%s", diff)
	}
}

// sealedWith returns how many secrets of each registered column a key has sealed.
func sealedWith(t *testing.T, s *servicetest.Service, keys *seal.Keys) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, c := range slices.Concat(reseal.OfTenants, reseal.OfService) {
		rows, err := s.Pool.Query(t.Context(), fmt.Sprintf(`SELECT %s FROM %s WHERE %[1]s IS NOT NULL`, c.Name, c.Table))
		if err != nil {
			t.Fatal(err)
		}
		values, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if keys.Current(v) {
				out[c.Table+"."+c.Name]++
			}
		}
	}
	return out
}

// makeSecrets gives a tenant one secret of each kind, all with the same names in each tenant.
func makeSecrets(ctx context.Context, t *testing.T, c servicetest.Client, models string) {
	t.Helper()
	_, err := c.CreateEndpoint(ctx, &ragdv1.CreateEndpointRequest{EndpointName: "e", Kind: "tei", BaseUrl: models, ApiKey: modelserver.Key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "s", Value: "v", Hosts: &ragdv1.SecretHosts{Hosts: []string{"a.com", "b.com"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateHook(ctx, &ragdv1.CreateHookRequest{HookName: "h", Url: models, Events: []string{"document.*"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RotateHookSecret(ctx, &ragdv1.RotateHookSecretRequest{HookName: "h"}); err != nil {
		t.Fatal(err)
	}
}

func TestSecretsAreReencryptedWithTheFirstMasterKey(t *testing.T) {
	t.Parallel()
	ai, ctx := modelserver.New(t), t.Context()
	config := func(digits ...string) service.Config {
		return service.Config{NoWorkers: true, MasterKeys: masterKeys(t, digits...), AllowedPrivateNetworks: thisMachine}
	}
	first := servicetest.New(t, config("1"))
	start := func(digits ...string) *servicetest.Service {
		c := config(digits...)
		c.AdminPool = first.Pool
		return servicetest.New(t, c)
	}
	acme, bolt := first.Tenant(t, "acme"), first.Tenant(t, "bolt")
	makeSecrets(ctx, t, acme, ai.URL)
	makeSecrets(ctx, t, bolt, ai.URL)
	if _, err := identity.NewIssuer(first.Pool, masterKeys(t, "1"), "https://ragd.example.com").Token(ctx, identity.Claims{}); err != nil {
		t.Fatal(err)
	}
	every := map[string]int{
		"ragd_shared.endpoints.secret": 2, "ragd_shared.secrets.value": 2, "ragd_shared.hooks.secret": 2, "ragd_shared.hooks.previous_secret": 2,
		"ragd.signing_keys.private_key": 1,
	}
	if diff := cmp.Diff(every, sealedWith(t, first, masterKeys(t, "1"))); diff != "" {
		t.Fatal("before: ", diff)
	}

	both := start("2", "1")
	done, err := both.Operator().ReencryptSecrets(ctx, &ragdv1.ReencryptSecretsRequest{})
	if err != nil || done.Reencrypted != 9 || len(done.Lost) != 0 {
		t.Fatalf("%v, %v", done, err)
	}
	if diff := cmp.Diff(every, sealedWith(t, first, masterKeys(t, "2"))); diff != "" {
		t.Error("after: ", diff)
	}
	if done, err = both.Operator().ReencryptSecrets(ctx, &ragdv1.ReencryptSecretsRequest{}); err != nil || done.Reencrypted != 0 {
		t.Errorf("again: %v, %v", done, err)
	}

	fresh := start("2") // the new key alone
	if _, err := fresh.Client(bolt.Secret).TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: "e"}); err != nil {
		t.Errorf("endpoint: %v", err)
	}
	if got, err := fresh.Handlers.Secrets.Values(ctx, "acme", []string{"s"}, &url.URL{Scheme: "https", Host: "a.com"}); err != nil || got["s"] != "v" {
		t.Errorf("secret: %v, %v", got, err)
	}
	if _, err := fresh.Client(acme.Secret).TestHook(ctx, &ragdv1.TestHookRequest{HookName: "h"}); err != nil {
		t.Errorf("hook: %v", err)
	}
	lost, err := start("3").Operator().ReencryptSecrets(ctx, &ragdv1.ReencryptSecretsRequest{})
	if err != nil || len(lost.Lost) != 9 || !strings.HasPrefix(strings.Join(lost.Lost, ", "), "acme/endpoints/e, acme/secrets/s, acme/hooks/h, acme/hooks/h (previous), bolt/endpoints/e") ||
		!strings.HasPrefix(lost.Lost[8], "signing-keys/") {
		t.Errorf("%v, %v", lost, err)
	}
	// An old secret of a hook that is no longer used needs no attention.
	if _, err := first.Pool.Exec(ctx, `UPDATE ragd_shared.hooks SET previous_expires_at = now()`); err != nil {
		t.Fatal(err)
	}
	if lost, err = start("3").Operator().ReencryptSecrets(ctx, &ragdv1.ReencryptSecretsRequest{}); err != nil || len(lost.Lost) != 7 {
		t.Errorf("%v, %v", lost, err)
	}
}

func TestOnlyTheOperatorReencryptsSecrets(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	_, err := s.Tenant(t, "acme").ReencryptSecrets(t.Context(), &ragdv1.ReencryptSecretsRequest{})
	wantCode(t, "a tenant", err, connect.CodePermissionDenied)
	_, err = s.Operator().ReencryptSecrets(t.Context(), &ragdv1.ReencryptSecretsRequest{})
	wantCode(t, "without master key", err, connect.CodeFailedPrecondition, "RAGD_MASTER_KEY")
}
