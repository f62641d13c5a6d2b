package tenant

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/postgres"
)

// SQLSTATEs of errors when roles are created or dropped.
const (
	duplicateObject  = "42710"
	internalError    = "XX000"
	dependentObjects = "2BP01"
)

// insertTenant adds the row of a tenant with the status creating, unless the tenant has a
// row, and returns the row.
func insertTenant(ctx context.Context, conn *pgxpool.Conn, id ID, displayName string, settings map[string]any) (row tenantRow, err error) {
	var b pgx.Batch
	b.Queue(`
		INSERT INTO ragd.tenants (tenant_id, display_name, settings, status)
		VALUES ($1, $2, $3, 'creating') ON CONFLICT DO NOTHING`, id, displayName, settings)
	b.Queue(`SELECT `+tenantColumns+` FROM ragd.tenants WHERE tenant_id = $1`, id).Query(func(rows pgx.Rows) (err error) {
		row, err = pgx.CollectOneRow(rows, pgx.RowToStructByName[tenantRow])
		return err
	})
	return row, postgres.Fault(conn.SendBatch(ctx, &b).Close())
}

// newSchema has the statements that create a tenant's schema, and the version that it then
// has.
type newSchema struct {
	sql     string
	version int
}

// createSchema creates the tenant's role and its schema, and marks the tenant as ready. If the schema exists it only creates the role, unless that
// exists too, grants the roles of the service what they need, and returns false.
//
// Roles belong to the whole server: a service on another of its databases may create the
// same role at the same time. Then the attempt fails and the next one finds the role.
func createSchema(ctx context.Context, conn *pgxpool.Conn, r roles, id ID, schema newSchema) (row tenantRow, created bool, err error) {
	const attempts = 5
	for range attempts {
		row, created, err = tryCreateSchema(ctx, conn, r, id, schema)
		switch postgres.Code(err) {
		case duplicateObject, postgres.CodeUniqueViolation, internalError: // "tuple concurrently updated"
			continue
		}
		break
	}
	return row, created, postgres.Fault(err)
}

func tryCreateSchema(ctx context.Context, conn *pgxpool.Conn, r roles, id ID, schema newSchema) (row tenantRow, created bool, err error) {
	var hasRole, hasSchema bool
	err = conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = $1), EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)`,
		id.Schema()).Scan(&hasRole, &hasSchema)
	if err != nil {
		return row, false, err
	}
	sql := r.membership(id)
	if !hasRole {
		sql = `CREATE ROLE ` + id.quoted() + ` NOLOGIN NOINHERIT;` + sql
	}
	if !hasSchema {
		sql += schema.sql + `; SET LOCAL ROLE NONE;`
	}
	sql += r.visibility(id)
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sql); err != nil || hasSchema {
			return err
		}
		row, err = setReady(ctx, tx, id, schema.version)
		return err
	})
	return row, !hasSchema, err
}

// setReady marks a tenant, whose schema has this version, as ready and returns its row.
func setReady(ctx context.Context, on querier, id ID, version int) (tenantRow, error) {
	rows, err := on.Query(ctx, `
		UPDATE ragd.tenants SET status = 'ready', schema_version = $2, updated_at = now() WHERE tenant_id = $1 RETURNING `+tenantColumns, id, version)
	if err != nil {
		return tenantRow{}, err
	}
	return pgx.CollectOneRow(rows, pgx.RowToStructByName[tenantRow])
}
