package tenant

// tenantSettings are the settings of a tenant that requests need.
type tenantSettings struct {
	quotas Quotas
	stores []string
}

// settingsOf returns those of a record.
func settingsOf(r Record) tenantSettings {
	return tenantSettings{QuotasOf(r.Settings), r.VectorStoreNames}
}
