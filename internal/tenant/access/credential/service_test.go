package credential_test

import (
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

func TestSecretsAreStoredAsHashes(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	name := tenanttest.Unique("hash")
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	mandatory, err := filter.Parse(map[string]any{"team": "red"})
	must(t, err)
	key, secret, err := f.Credentials.CreateKey(f.Operator, credential.NewKey{TenantID: name, MandatoryFilter: mandatory})
	must(t, err)
	if !strings.HasPrefix(secret, key.Prefix()) || len(secret) < len(key.Prefix())+43 {
		t.Errorf("secret %q does not follow prefix %q", secret, key.Prefix())
	}
	random := secret[len(key.Prefix()):]
	if n := f.Count(t, `SELECT count(*) FROM ragd.api_keys AS k WHERE k::text LIKE '%' || $1 || '%'`, random); n != 0 {
		t.Error("the secret is in the table")
	}
	principal, err := f.Credentials.Auth.Authenticate(t.Context(), secret)
	must(t, err)
	if principal.Tenant != tenant.ID(name) || string(principal.MandatoryFilter.JSON()) != string(mandatory.JSON()) {
		t.Errorf("principal = %+v", principal)
	}
}

func TestTheFirstOperatorKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	secret, err := f.Credentials.EnsureOperatorKey(t.Context())
	must(t, err)
	principal, err := f.Credentials.Auth.Authenticate(t.Context(), secret)
	if err != nil || !principal.Has(access.Operator) {
		t.Errorf("principal = %+v, %v", principal, err)
	}
	if again, err := f.Credentials.EnsureOperatorKey(t.Context()); err != nil || again != "" {
		t.Errorf("a second key %q, %v", again, err)
	}
	configured, err := credential.New(t.Context(), f.Pool, credential.Config{OperatorKey: "from the environment"})
	must(t, err)
	if _, err := configured.Auth.Authenticate(t.Context(), "from the environment"); err != nil {
		t.Errorf("the configured key: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
