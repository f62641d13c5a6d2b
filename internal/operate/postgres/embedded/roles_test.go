//go:build unix

package embedded

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The role of requests has no rights of its own, also after RESET ROLE.
func TestTheServiceRoleHasNoRightsOfItsOwn(t *testing.T) {
	t.Parallel()
	s := start(t, clusterDir(t))
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range []string{
		`SET ROLE ` + superuser,
		`SET SESSION AUTHORIZATION ` + superuser,
		`COPY (SELECT 1) TO PROGRAM 'true'`,
		`SELECT pg_read_file('PG_VERSION')`,
		`CREATE ROLE more`,
		`CREATE SCHEMA more`,
	} {
		var pgErr *pgconn.PgError
		if _, err := conn.Exec(t.Context(), `RESET ROLE; `+sql, pgx.QueryExecModeSimpleProtocol); !errors.As(err, &pgErr) || pgErr.Code != "42501" {
			t.Errorf("%s: got %v, want that it is denied", sql, err)
		}
	}
	const attributes = `SELECT count(*)::text FROM pg_roles WHERE rolname = '` + serviceRole + `' AND NOT (rolsuper OR rolinherit OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)`
	if got := mustQuery(t, s.AdminURL(), attributes); got != "1" {
		t.Error("the role of the service has special attributes")
	}
}
