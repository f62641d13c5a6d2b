package service

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant"
)

// Credentials are the secrets that Bootstrap made. They can not be read again later.
type Credentials struct {
	OperatorKey string
	// Tenant and TenantKey are the first tenant and its admin key; empty with an
	// external database.
	Tenant, TenantKey string
}

// Bootstrap makes what the first start of a service lacks: an operator key, unless one
// is configured or in the database, and with an embedded database a tenant of the given
// name with an admin key. When there is an operator key already, it does nothing and
// returns no Credentials. Call it before Run.
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
