package tenant

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// SQLSTATEs of errors when roles are created or dropped.
const (
	duplicateObject  = "42710"
	internalError    = "XX000"
	dependentObjects = "2BP01"
)

// provisioned is what a tenant had before its creation.
type provisioned struct{ HasRole, HasSchema bool }

// insertTenant adds the row of a tenant with the status creating, unless the tenant has a
// row, and returns the row.
func insertTenant(ctx context.Context, tx pgx.Tx, id ID, displayName string, settings map[string]any) (row tenantRow, has provisioned, err error) {
	var b pgx.Batch
	b.Queue(`
		INSERT INTO ragd.tenants (tenant_id, display_name, settings, status)
		VALUES ($1, $2, $3, 'creating') ON CONFLICT DO NOTHING`, id, displayName, settings)
	b.Queue(`SELECT `+tenantColumns+` FROM ragd.tenants WHERE tenant_id = $1`, id).Query(func(rows pgx.Rows) (err error) {
		row, err = pgx.CollectOneRow(rows, pgx.RowToStructByName[tenantRow])
		return err
	})
	b.Queue(provisionedSQL, id.Schema()).Query(func(rows pgx.Rows) (err error) {
		has, err = pgx.CollectOneRow(rows, pgx.RowToStructByName[provisioned])
		return err
	})
	return row, has, tx.SendBatch(ctx, &b).Close()
}

const provisionedSQL = `
	SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = $1) AS has_role,
		EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1) AS has_schema`

// create creates the row, the role and the schema of a tenant in one transaction, which
// marks the tenant as ready. If there is a schema already, the tenant is not ready yet:
// the schema may have to be migrated. Errors: Exists, Precondition while the tenant is being
// deleted.
func create(ctx context.Context, conn *pgxpool.Conn, r roles, wanted Tenant, m *postgres.Migrator) (row tenantRow, err error) {
	id := wanted.TenantID
	made, err := r.prepare(ctx, conn, id)
	if err != nil {
		return row, err
	}
	err = withRole(ctx, conn, func(tx pgx.Tx) error {
		var has provisioned
		if row, has, err = insertTenant(ctx, tx, id, wanted.DisplayName, wanted.Settings); err != nil {
			return err
		}
		switch row.Status {
		case statusCreating:
		case statusDeleting:
			return beingDeleted(id)
		default:
			return fault.New(fault.Exists, "tenant %q exists already", id)
		}
		has.HasSchema = has.HasSchema && !made
		sql := r.rolesSQL(id, has.HasRole)
		if !has.HasSchema {
			sql += r.schemaSQL(id, m)
		}
		if _, err := tx.Exec(ctx, sql+r.visibility(id)); err != nil || has.HasSchema {
			return err
		}
		row, err = setReady(ctx, tx, id, m.Newest())
		return err
	})
	return row, err
}

// ensureRole creates the role of a tenant, unless it exists, and grants the roles of the
// service what they need.
func ensureRole(ctx context.Context, conn *pgxpool.Conn, r roles, id ID) error {
	return withRole(ctx, conn, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, provisionedSQL, id.Schema())
		if err != nil {
			return err
		}
		has, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[provisioned])
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, r.makeRole(id, has.HasRole)+r.visibility(id))
		return err
	})
}

// withRole runs do, which creates a role, in a transaction. Roles belong to the whole
// server: a service on another of its databases may create or drop the same role at the same
// time. Then the attempt fails and the next one finds what is there.
func withRole(ctx context.Context, conn *pgxpool.Conn, do func(tx pgx.Tx) error) error {
	return withoutConflict(ctx, func() error { return pgx.BeginFunc(ctx, conn, do) })
}

const (
	// conflictAttempts is how often something is done with a role that others create and drop.
	conflictAttempts = 10
	maxConflictPause = 50 * time.Millisecond
)

// withoutConflict repeats do while it fails because of what another service does with the same role.
func withoutConflict(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		switch postgres.Code(err) {
		case duplicateObject, postgres.CodeUndefinedObject, postgres.CodeUniqueViolation, internalError, postgres.CodeDeadlock: // "tuple concurrently updated", and Citus reports conflicts of workers as deadlocks
		default:
			return postgres.Fault(err)
		}
		if attempt == conflictAttempts {
			return postgres.Fault(err)
		}
		select {
		case <-ctx.Done():
			return postgres.Fault(err)
		case <-time.After(rand.N(maxConflictPause)):
		}
	}
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
