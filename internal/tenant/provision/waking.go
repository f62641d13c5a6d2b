package provision

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// BeginWaking makes the role and an empty schema, at the newest version, of a tenant that is asleep in the database, and
// stores the progress of its waking. conn is one of Unshared, and nothing of the tenant is left in the database. Errors:
// Conflict for a tenant that is not asleep; Exhausted without space on the disk.
func (s *Service) BeginWaking(ctx context.Context, conn *pgxpool.Conn, begun Import) error {
	if err := s.storage.Disk(); err != nil {
		return err
	}
	id, d := begun.TenantID, s.first
	r := d.store.roles
	err := withRole(ctx, conn, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, provisionedSQL, id.Schema())
		has, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[provisioned])
		if err != nil {
			return err
		}
		sql := r.rolesSQL(id, has.HasRole) + r.schemaSQL(id, d.migrator) + r.visibility(id)
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			UPDATE ragd.tenants SET status = 'waking', schema_version = $2, migration_error = NULL WHERE tenant_id = $1 AND status IN ('asleep', 'waking')`,
			id, d.migrator.Newest())
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fault.New(fault.Conflict, "tenant %q is not asleep", id)
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO ragd.imports AS i (tenant_id, frames, chain, state) VALUES ($1, $2, $3, $4)
			ON CONFLICT (tenant_id) DO UPDATE SET frames = excluded.frames, chain = excluded.chain, state = excluded.state, updated_at = now()`,
			id, begun.Frames, begun.Chain, begun.State)
		return err
	})
	if err != nil {
		return fmt.Errorf("begin to wake the tenant %s: %w", id, postgres.Fault(err))
	}
	return nil
}

// EndWaking ends the waking of the transaction's tenant: when the transaction commits, the tenant is ready, and
// the key of its archive is erased. Errors: Conflict when it is no longer waking.
func EndWaking(ctx context.Context, t *data.Tx) error {
	return t.AsService(ctx, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`DELETE FROM ragd.imports WHERE tenant_id = $1`,
			`UPDATE ragd.sleeps SET phase = 'awake', sealed_key = NULL, updated_at = now() WHERE tenant_id = $1 AND phase = 'asleep'`,
			`UPDATE ragd.tenants SET status = 'ready', asleep_since = NULL, archived_bytes = NULL, updated_at = now() WHERE tenant_id = $1 AND status = 'waking'`,
		} {
			tag, err := tx.Exec(ctx, sql, t.Tenant())
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				return fault.New(fault.Conflict, "another call has woken or deleted the tenant %q", t.Tenant())
			}
		}
		return nil
	})
}
