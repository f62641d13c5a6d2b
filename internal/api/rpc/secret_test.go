package rpc_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/webhook"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/logtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Two tenants have a secret of the same name. No answer, log line or row shows a value.
func TestSecretsAreStoredForTheirTenantAndNeverShown(t *testing.T) {
	t.Parallel()
	log := &logtest.Buffer{}
	s := servicetest.New(t, service.Config{
		NoWorkers: true, MasterKeys: masterKeys(t, "1"), Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	acme, bolt, ctx := s.Tenant(t, "acme"), s.Tenant(t, "bolt"), t.Context()
	shown := &strings.Builder{}
	for _, of := range []struct {
		client servicetest.Client
		value  string
	}{{acme, "value-of-acme"}, {bolt, "value-of-bolt"}} {
		set, err := of.client.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "crm", Value: of.value, Hosts: &ragdv1.SecretHosts{Hosts: []string{"crm.example.com"}}})
		if err != nil {
			t.Fatal(err)
		}
		listed, err := of.client.ListSecrets(ctx, &ragdv1.ListSecretsRequest{})
		if err != nil || len(listed.Secrets) != 1 || listed.Secrets[0].SecretName != "crm" || listed.Secrets[0].Hosts[0] != "crm.example.com" {
			t.Errorf("%v, %v", listed, err)
		}
		fmt.Fprint(shown, set, listed)
	}
	to := &url.URL{Scheme: "https", Host: "crm.example.com"}
	for _, name := range []string{"acme", "bolt"} {
		got, err := s.Handlers.Secrets.Values(ctx, tenant.ID(name), []string{"crm"}, to)
		if err != nil || got["crm"] != "value-of-"+name {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := s.Handlers.Secrets.Values(ctx, "acme", []string{"crm"}, &url.URL{Scheme: "https", Host: "evil.example.com"}); fault.KindOf(err) != fault.Denied {
		t.Errorf("another host: %v", err)
	}
	var rows []byte
	if err := s.Pool.QueryRow(ctx, `SELECT string_agg(value, '') FROM ragd_shared.secrets`).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{shown.String(), log.String(), string(rows)} {
		if strings.Contains(text, "value-of-") {
			t.Errorf("a value is shown: %s", text)
		}
	}
	if _, err := acme.DeleteSecret(ctx, &ragdv1.DeleteSecretRequest{SecretName: "crm"}); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.DeleteSecret(ctx, &ragdv1.DeleteSecretRequest{SecretName: "crm"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a second time: %v", err)
	}
	if got, err := s.Handlers.Secrets.Values(ctx, "bolt", []string{"crm"}, to); err != nil || got["crm"] != "value-of-bolt" {
		t.Errorf("bolt's secret was deleted by acme: %v", err)
	}
	if _, err := s.Handlers.Secrets.Values(ctx, "acme", []string{"crm"}, to); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a deleted secret: %v", err)
	}
}

// Somebody with access to the database moves a value to another row, or changes its hosts.
func TestAMovedSecretDoesNotOpen(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "1")})
	acme, bolt, ctx := s.Tenant(t, "acme"), s.Tenant(t, "bolt"), t.Context()
	for _, c := range []servicetest.Client{acme, bolt} {
		for _, name := range []string{"a", "b"} {
			if _, err := c.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: name, Value: "v", Hosts: &ragdv1.SecretHosts{Hosts: []string{"a.com"}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for change, names := range map[string][2]string{
		`UPDATE ragd_shared.secrets SET value = (SELECT value FROM ragd_shared.secrets WHERE tenant_id = 'acme' AND secret_name = 'a') WHERE tenant_id = 'bolt' AND secret_name = 'a'`: {"bolt", "a"},
		`UPDATE ragd_shared.secrets SET value = (SELECT value FROM ragd_shared.secrets WHERE tenant_id = 'acme' AND secret_name = 'a') WHERE tenant_id = 'acme' AND secret_name = 'b'`: {"acme", "b"},
		`UPDATE ragd_shared.secrets SET hosts = '{}' WHERE tenant_id = 'acme' AND secret_name = 'a'`:                                                                                   {"acme", "a"},
	} {
		if _, err := s.Pool.Exec(ctx, change); err != nil {
			t.Fatal(err)
		}
		_, err := s.Handlers.Secrets.Values(ctx, tenant.ID(names[0]), []string{names[1]}, &url.URL{Scheme: "https", Host: "a.com"})
		if fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), "set it again") {
			t.Errorf("%s: %v", change, err)
		}
	}
}

func TestSecretsNeedTheScopeAdminAndAMasterKey(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "1")})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	writer := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}}))
	_, err := writer.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "a", Value: "v"})
	wantCode(t, "a writer sets", err, connect.CodePermissionDenied, "admin")
	_, err = writer.ListSecrets(ctx, &ragdv1.ListSecretsRequest{})
	wantCode(t, "a writer lists", err, connect.CodePermissionDenied)
	_, err = writer.DeleteSecret(ctx, &ragdv1.DeleteSecretRequest{SecretName: "a"})
	wantCode(t, "a writer deletes", err, connect.CodePermissionDenied)

	without := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	_, err = without.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "a", Value: "v"})
	wantCode(t, "without master key", err, connect.CodeFailedPrecondition, "RAGD_MASTER_KEY")

	for what, req := range map[string]*ragdv1.SetSecretRequest{
		"secretName": {SecretName: "a.b", Value: "v"},
		"value":      {SecretName: "a", Value: strings.Repeat("v", 8<<10+1)},
		"generate":   {SecretName: "a", Value: "v", Generate: true},
		"hosts":      {SecretName: "a", Value: "v", Hosts: &ragdv1.SecretHosts{Hosts: []string{"https://a.com"}}},
	} {
		_, err := acme.SetSecret(ctx, req)
		wantCode(t, what, err, connect.CodeInvalidArgument, what)
	}
	_, err = acme.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "a"})
	wantCode(t, "no value", err, connect.CodeInvalidArgument, "value")
}

func TestAGeneratedSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "1")})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	set, err := acme.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "signing", Generate: true, Hosts: &ragdv1.SecretHosts{Hosts: []string{"a.com"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := webhook.ParseSecret("value", set.GeneratedValue); err != nil {
		t.Errorf("%q: %v", set.GeneratedValue, err)
	}
	// Another value keeps the hosts.
	again, err := acme.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "signing", Value: "v"})
	if err != nil || again.GeneratedValue != "" || len(again.Secret.Hosts) != 1 {
		t.Errorf("%v, %v", again, err)
	}
	anyHost, err := acme.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "signing", Value: "v", Hosts: &ragdv1.SecretHosts{}})
	if err != nil || len(anyHost.Secret.Hosts) != 0 {
		t.Errorf("%v, %v", anyHost, err)
	}
}

func TestATenantHasALimitedNumberOfSecrets(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "1")})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	if _, err := s.Pool.Exec(ctx, `INSERT INTO ragd_shared.secrets (tenant_id, secret_name, value, hosts) SELECT 'acme', 's' || n, $1, '{}' FROM generate_series(1, 200) AS n`, bytes.Repeat([]byte("x"), 40)); err != nil {
		t.Fatal(err)
	}
	_, err := acme.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "another", Value: "v"})
	wantCode(t, "one too many", err, connect.CodeResourceExhausted, "200")
	if _, err := acme.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "s1", Value: "v"}); err != nil {
		t.Errorf("a new value of an existing secret: %v", err)
	}
}
