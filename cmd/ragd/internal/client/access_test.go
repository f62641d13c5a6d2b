package client

import (
	"testing"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
)

func TestQuotasAreThoseOfATenant(t *testing.T) {
	t.Parallel()
	local := config.Client{Tenant: "demo", APIKey: "of demo", OperatorKey: "operator"}
	for name, c := range map[string]struct {
		settings    Settings
		local       config.Client
		key, header string
	}{
		"the tenant of client.conf":     {Settings{}, local, "operator", "demo"},
		"the one that is named":         {Settings{Tenant: "acme"}, local, "operator", "acme"},
		"that of the key":               {Settings{APIKey: "of acme"}, local, "of acme", ""},
		"the named one, beside a key":   {Settings{APIKey: "of acme", Tenant: "bolt"}, local, "operator", "bolt"},
		"that of the key, no operator":  {Settings{}, config.Client{Tenant: "demo", APIKey: "of demo"}, "of demo", ""},
		"an operator far from a tenant": {Settings{OperatorKey: "another"}, config.Client{}, "another", ""},
	} {
		if got := ForQuotas(Credentials{c.settings, c.local}); got.Key != c.key || got.Header != c.header {
			t.Errorf("%s: %q for the tenant %q, want %q for %q", name, got.Key, got.Header, c.key, c.header)
		}
	}
}
