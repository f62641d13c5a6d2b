package credential

import (
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
func settingsOf(r tenant.Record) tenantSettings {
	return tenantSettings{quota.Of(r.Settings), r.VectorStoreNames, r.Asleep()}
}
