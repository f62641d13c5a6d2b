package tenant_test

import (
	"flag"
	"testing"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/testing/pgtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The golden files are what a reader of the migrations has to know: the tables as
// they end up.
func TestSchemasAreAsTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	must(t, tenant.MigrateControl(t.Context(), pool))
	pgtest.CheckSchema(t, pool, tenant.ControlSchema, "control", *update)

	f := setup(t)
	name := unique("golden")
	_, err := f.tenants.Create(f.operator, name, "", nil)
	must(t, err)
	pgtest.CheckSchema(t, f.pool, tenant.ID(name).Schema(), "tenant", *update)
}
