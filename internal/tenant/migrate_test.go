package tenant_test

import (
	"io/fs"
	"testing"

	"github.com/ragdhq/ragd/internal/postgres"
	"github.com/ragdhq/ragd/internal/testing/pgtest"
	"github.com/ragdhq/ragd/migrations"
)

func TestMigrationsGoUpDownUp(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	count := map[string]int{"ragd": ups(t, migrations.Control()), "tenant_up-down": ups(t, migrations.Tenant())}
	for schema, files := range map[string]func() *postgres.Migrator{
		"ragd": func() *postgres.Migrator {
			m, err := postgres.NewMigrator(t.Context(), pool, migrations.Control())
			must(t, err)
			return m
		},
		"tenant_up-down": func() *postgres.Migrator {
			m, err := postgres.NewMigrator(t.Context(), pool, migrations.Tenant())
			must(t, err)
			return m
		},
	} {
		t.Run(schema, func(t *testing.T) {
			must(t, postgres.EnsureSchema(t.Context(), pool, schema))
			m := files()
			for range 2 {
				up, err := m.Up(t.Context(), schema)
				must(t, err)
				down, err := m.Down(t.Context(), schema)
				must(t, err)
				if up != count[schema] || down != up {
					t.Errorf("%d up and %d down, want %d each", up, down, count[schema])
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
