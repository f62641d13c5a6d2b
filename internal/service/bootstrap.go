package service

import (
	"context"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

// Credentials are the secrets that Bootstrap created. They cannot be read again later.
type Credentials struct {
	OperatorKey string
	// Tenant and TenantKey are the first tenant and its admin key; empty if the database
	// has other tenants, but not this one.
	Tenant, TenantKey string
}

// Bootstrap creates the credentials of a service with an embedded database: an operator key
// and, with an admin key, a tenant of the given name, unless there are others. known is the
// operator key that an earlier call created and the caller has kept; if the database has
// that key, Bootstrap does nothing and returns zero Credentials. So a first start that was
// interrupted is completed by the next, and lost keys are replaced. Call it before Run.
func (s *Service) Bootstrap(ctx context.Context, firstTenant, known string) (made Credentials, err error) {
	has, err := s.Credentials.HasKey(ctx, known)
	if err != nil || has {
		return made, err
	}
	operator := access.NewContext(ctx, &access.Request{
		Principal: access.Principal{Subject: "ragd serve", Scopes: []access.Scope{access.Operator}},
	})
	_, made.OperatorKey, err = s.Credentials.CreateKey(operator, credential.NewKey{
		DisplayName: "client.conf", Scopes: []string{string(access.Operator)},
	})
	if err != nil {
		return made, err
	}
	exists, err := s.ensureFirst(operator, firstTenant)
	if err != nil || !exists {
		return made, err
	}
	made.Tenant = firstTenant
	_, made.TenantKey, err = s.Credentials.CreateKey(operator, credential.NewKey{
		TenantID: firstTenant, DisplayName: "client.conf", Scopes: []string{string(access.Admin)},
	})
	return made, err
}

// ensureFirst creates the first tenant if there is no tenant, and completes its creation if
// that was interrupted. It returns false if there are only others.
func (s *Service) ensureFirst(operator context.Context, name string) (exists bool, err error) {
	_, err = s.Tenants.Get(operator, name)
	if fault.KindOf(err) != fault.NotFound {
		return err == nil, err
	}
	others, _, err := s.Tenants.List(operator, "", 1, "")
	if err != nil || len(others) > 0 {
		return false, err
	}
	_, err = s.Tenants.Create(operator, name, "", nil)
	return err == nil, err
}
