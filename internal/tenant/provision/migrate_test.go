package provision_test

import (
	"io/fs"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/migrations"
)

func TestMigrationsGoUpDownUp(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	must(t, provision.MigrateControl(t.Context(), pool)) // the other schemas refer to it
	for _, set := range []struct {
		schema string
		files  fs.FS
	}{{"tenant_up-down", migrations.Tenant()}, {tenant.SharedSchema, migrations.Shared()}, {tenant.ControlSchema, migrations.Control()}} {
		schema, count := set.schema, ups(t, set.files)
		t.Run(schema, func(t *testing.T) {
			must(t, postgres.EnsureSchema(t.Context(), pool, schema))
			m, err := postgres.NewMigrator(t.Context(), pool, set.files)
			must(t, err)
			_, err = m.Up(t.Context(), schema)
			must(t, err)
			_, err = m.Down(t.Context(), schema)
			must(t, err)
			for range 2 {
				up, err := m.Up(t.Context(), schema)
				must(t, err)
				down, err := m.Down(t.Context(), schema)
				must(t, err)
				if up != count || down != up {
					t.Errorf("%d up and %d down, want %d each", up, down, count)
				}
				var left int
				must(t, pool.QueryRow(t.Context(), `
					SELECT count(*) FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relname <> 'schema_migrations'`,
					`"`+schema+`"`).Scan(&left))
				if left != 0 {
					t.Errorf("%d tables are left after going down", left)
				}
			}
		})
	}
}

// ups returns the number of up files.
func ups(t *testing.T, files fs.FS) int {
	t.Helper()
	found, err := fs.Glob(files, "*.up.sql")
	must(t, err)
	return len(found)
}
