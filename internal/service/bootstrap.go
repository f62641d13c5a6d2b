package service

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant"
)

// Credentials are the secrets that Bootstrap created. They cannot be read again later.
type Credentials struct {
	OperatorKey string
	// Tenant and TenantKey are the first tenant and its admin key; empty with an
	// external database.
	Tenant, TenantKey string
}

// Bootstrap creates an operator key on the first start of a service, and with an
// embedded database a tenant of the given name with an admin key. If an operator key is
// configured or in the database already, it does nothing and returns zero Credentials.
// Call it before Run.
func (s *Service) Bootstrap(ctx context.Context, firstTenant string) (Credentials, error) {
	secret, err := s.Tenants.EnsureOperatorKey(ctx)
	made := Credentials{OperatorKey: secret}
	if err != nil || secret == "" || s.database.embedded == nil {
		return made, err
	}
	operator := tenant.NewContext(ctx, &tenant.Request{
		Principal: tenant.Principal{Subject: "ragd serve", Scopes: []tenant.Scope{tenant.Operator}},
	})
	if _, err := s.Tenants.Create(operator, firstTenant, "", nil); err != nil {
		return made, err
	}
	made.Tenant = firstTenant
	_, made.TenantKey, err = s.Tenants.CreateKey(operator, tenant.NewKey{
		TenantID: firstTenant, DisplayName: "client.conf", Scopes: []string{string(tenant.Admin)},
	})
	return made, err
}
