package provision

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

// provisioned is what a tenant had before its creation.
type provisioned struct{ HasRole, HasSchema bool }

// insertTenant adds the row of a tenant with the status creating, unless the tenant has a
// row, and returns the row.
func insertTenant(ctx context.Context, tx pgx.Tx, id tenant.ID, displayName string, settings map[string]any) (row tenant.Record, has provisioned, err error) {
	var b pgx.Batch
	b.Queue(`
		INSERT INTO ragd.tenants (tenant_id, display_name, settings, status)
		VALUES ($1, $2, $3, 'creating') ON CONFLICT DO NOTHING`, id, displayName, settings)
	b.Queue(`SELECT `+tenant.RecordColumns+` FROM ragd.tenants WHERE tenant_id = $1`, id).Query(func(rows pgx.Rows) (err error) {
		row, err = pgx.CollectOneRow(rows, pgx.RowToStructByName[tenant.Record])
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
// deleted or can be restored.
func create(ctx context.Context, conn *pgxpool.Conn, r roles, wanted Tenant, m *postgres.Migrator) (row tenant.Record, err error) {
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
		case tenant.StatusCreating:
			if wanted.Plan != nil {
				if err := setPlan(ctx, tx, id, wanted.Plan.Name); err != nil {
					return err
				}
			}
		default:
			return occupied(row)
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

// setReady marks a tenant, whose schema has this version, as ready and returns its row.
func setReady(ctx context.Context, on tenant.Querier, id tenant.ID, version int) (tenant.Record, error) {
	rows, err := on.Query(ctx, `
		UPDATE ragd.tenants SET status = 'ready', schema_version = $2, updated_at = now() WHERE tenant_id = $1 RETURNING `+tenant.RecordColumns, id, version)
	if err != nil {
		return tenant.Record{}, err
	}
	return pgx.CollectOneRow(rows, pgx.RowToStructByName[tenant.Record])
}

// provision creates a tenant and returns its row. A new schema is created at the newest
// version, in the transaction that creates the tenant. A schema that exists, because it was
// restored without the tenant's row, is migrated.
func (d *Database) provision(ctx context.Context, conn *pgxpool.Conn, wanted Tenant) (tenant.Record, error) {
	id := wanted.TenantID
	row, err := create(ctx, conn, d.store.roles, wanted, d.migrator)
	if err != nil {
		return tenant.Record{}, fmt.Errorf("create the tenant %s: %w", id, err)
	}
	if row.Status == tenant.StatusReady {
		return row, nil
	}
	if _, err := d.migrator.Up(ctx, id.Schema()); err != nil {
		return tenant.Record{}, fmt.Errorf("migrate the new tenant %s: %w", id, err)
	}
	row, err = setReady(ctx, conn, id, d.migrator.Newest())
	return row, postgres.Fault(err)
}
