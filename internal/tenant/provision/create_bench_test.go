package provision_test

import (
	"fmt"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant"
)

// BenchmarkCreateTenant reports what an empty tenant takes: time, bytes of the database with
// its rows in the catalogs, and relations. Run it with -benchtime=200x.
func BenchmarkCreateTenant(b *testing.B) {
	f := setup(b)
	name := tenanttest.Unique("bench")
	before := f.databaseBytes(b)
	made := 0
	for b.Loop() {
		_, err := f.Tenants.Create(f.Operator, fmt.Sprintf("%s-%d", name, made), "", nil)
		must(b, err)
		made++
	}
	b.ReportMetric(float64(f.databaseBytes(b)-before)/float64(made), "bytes/tenant")
	schema := `"` + tenant.ID(name+"-0").Schema() + `"`
	b.ReportMetric(float64(f.Count(b, `SELECT count(*) FROM pg_class WHERE relnamespace = $1::regnamespace`, schema)), "relations")
	b.ReportMetric(float64(f.Count(b, `
		SELECT count(*) FROM pg_class AS t JOIN pg_class AS c ON t.oid = c.reltoastrelid OR t.oid = (SELECT x.indexrelid FROM pg_index AS x WHERE x.indrelid = c.reltoastrelid)
		WHERE c.relnamespace = $1::regnamespace`, schema)), "toast-relations")
}

// databaseBytes returns the size of the database after a checkpoint and a vacuum of the
// catalogs.
func (f fixture) databaseBytes(b *testing.B) int {
	b.Helper()
	_, err := f.Pool.Exec(b.Context(), `CHECKPOINT`)
	must(b, err)
	for _, catalog := range []string{"pg_class", "pg_attribute", "pg_type", "pg_depend", "pg_shdepend", "pg_index", "pg_constraint", "pg_trigger", "pg_proc", "pg_attrdef", "pg_namespace", "pg_enum"} {
		_, err := f.Pool.Exec(b.Context(), `VACUUM pg_catalog.`+catalog)
		must(b, err)
	}
	return f.Count(b, `SELECT pg_database_size(current_database())`)
}
