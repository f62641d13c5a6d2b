package provision_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/migrations"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestControlSchemaMatchesGoldenFile(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	must(t, provision.MigrateControl(t.Context(), pool))
	pgtest.CheckSchema(t, pool, tenant.ControlSchema, "control", *update)
	pgtest.CheckSchema(t, pool, tenant.SharedSchema, "shared", *update)
}

// A new schema is created at the newest version; one that exists is migrated file by file.
// Both have the same result.
func TestTenantSchemaMatchesGoldenFile(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]string{
		"created": `SELECT`,
		"migrated": `
			INSERT INTO ragd.tenants (tenant_id, status) VALUES ('<id>', 'creating');
			CREATE ROLE "<schema>" NOLOGIN NOINHERIT;
			CREATE SCHEMA "<schema>" AUTHORIZATION "<schema>"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			name := tenanttest.Unique(name)
			schema := tenant.ID(name).Schema()
			_, err := f.Pool.Exec(t.Context(), strings.NewReplacer("<id>", name, "<schema>", schema).Replace(prepare))
			must(t, err)
			_, err = f.Tenants.Create(f.Operator, name, "", nil)
			must(t, err)
			pgtest.CheckSchema(t, f.Pool, schema, "tenant", *update)
			if n := f.Count(t, `SELECT count(*) FROM pg_class WHERE relnamespace = $1::regnamespace AND pg_get_userbyid(relowner) <> $2`, `"`+schema+`"`, schema); n != 0 {
				t.Errorf("%d relations do not belong to the tenant's role", n)
			}
			if n := f.Count(t, `SELECT version FROM "`+schema+`".schema_migrations WHERE NOT dirty`); n != ups(t, migrations.Tenant()) {
				t.Errorf("the schema is at version %d", n)
			}
		})
	}
}
