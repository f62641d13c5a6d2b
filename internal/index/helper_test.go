package index_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// exec runs statements as the service.
func exec(t *testing.T, s *servicetest.Service, sql string) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), sql)
	must(t, err)
}

// names returns the names of a tenant's relations that match a pattern, in order.
func names(t *testing.T, s *servicetest.Service, id tenant.ID, pattern string) []string {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), `
		SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace LEFT JOIN pg_index AS x ON x.indexrelid = c.oid
		WHERE n.nspname = $1 AND c.relname ~ $2 AND x.indisvalid IS NOT FALSE ORDER BY 1`, id.Schema(), pattern)
	must(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return found
}
