package doctor

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// MaxEndpoints is how many endpoints of tenants TenantEndpoints returns.
const MaxEndpoints = 50

// Endpoint is an address that the service calls. Name is the tenant's and the endpoint's.
type Endpoint struct{ Name, URL string }

// TenantEndpoints returns endpoints of all tenants, in the order of their names; none if the
// database has no schema of the service yet. The connection's role must be the one that
// migrates, which sees the rows of all tenants.
func TenantEndpoints(ctx context.Context, conn *pgx.Conn) ([]Endpoint, error) {
	rows, err := conn.Query(ctx, `
		SELECT tenant_id || '/' || endpoint_name, base_url FROM ragd_shared.endpoints ORDER BY tenant_id, endpoint_name LIMIT $1`, MaxEndpoints)
	if err != nil {
		return nil, missingTable(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Endpoint])
	return found, missingTable(err)
}

// missingTable returns nil for the error about a table that does not exist.
func missingTable(err error) error {
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Code == postgres.CodeUndefinedTable {
		return nil
	}
	return err
}
