package tenant

// tenantSettings are the settings of a tenant that requests need.
type tenantSettings struct {
	quotas Quotas
	stores []string
}

func (r Record) known() tenantSettings {
	return tenantSettings{quotasOf(r.Settings), r.VectorStoreNames}
}
