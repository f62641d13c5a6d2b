package credential

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// tenantSettings are the settings of a tenant that requests need.
type tenantSettings struct {
	quotas quota.Limits
	stores []string
	asleep bool // the tenant is not active
}

// settingsOf returns those of a record.
func (a *Authenticator) settingsOf(r tenant.Record) tenantSettings {
	return tenantSettings{quota.Of(r.Settings, r.Plan, a.contact), r.VectorStoreNames, r.Asleep()}
}

// Limits returns what a tenant may use, up to keyCacheTTL late. Errors: NotFound.
func (a *Authenticator) Limits(ctx context.Context, id tenant.ID) (quota.Limits, error) {
	row, err := a.ready(ctx, string(id))
	return a.settingsOf(row).quotas, err
}
