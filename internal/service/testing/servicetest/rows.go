package servicetest

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// RowSums returns the number and a checksum of all rows of a tenant, by table, once they no longer
// change.
func (s *Service) RowSums(t testing.TB, tenant string) map[string]string {
	t.Helper()
	return RowSums(t, s.Pool, tenant)
}

// Queryer runs statements with the rights of a superuser.
type Queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// RowSums is [Service.RowSums] of a database.
func RowSums(t testing.TB, db Queryer, tenant string) map[string]string {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rows, err := db.Query(t.Context(), `
		SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), n.nspname = 'ragd_shared'
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND (n.nspname = 'tenant_' || $1 OR n.nspname = 'ragd_shared' AND EXISTS (
			SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id'))
		ORDER BY 1`, tenant)
	check(err)
	tables := map[string]bool{}
	for rows.Next() {
		var name string
		var shared bool
		check(rows.Scan(&name, &shared))
		tables[name] = shared
	}
	check(rows.Err())
	if len(tables) < 20 {
		t.Fatalf("tenant %s has %d tables", tenant, len(tables))
	}
	read := func() map[string]string {
		sums := map[string]string{}
		for name, shared := range tables {
			where, args := " AS r", []any(nil)
			if shared {
				where, args = " AS r WHERE r.tenant_id = $1", []any{tenant}
			}
			var sum string
			check(db.QueryRow(t.Context(), `SELECT count(*) || ' rows, ' || coalesce(md5(string_agg(r::text, '|' ORDER BY r::text)), '') FROM `+name+where, args...).Scan(&sum))
			sums[name] = sum
		}
		return sums
	}
	return wait.Rest(t, "the rows of the tenant", 500*time.Millisecond, maps.Equal[map[string]string], read)
}
