package provision

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// Delete deletes a tenant, which can be restored for as long as its settings, its plan or Config.Retention say; with 0s it
// is Erase. From its start the tenant's credentials are rejected and its work rests: at once on this instance, within seconds on
// others. A tenant that is deleted stays as it is. It says what is to be erased. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, name string) (done Deletion, err error) {
	id, err := s.removable(ctx, name)
	if err != nil {
		return done, err
	}
	erase := false
	err = s.store.locked(ctx, id, func(conn *pgxpool.Conn) error {
		row, err := tenant.Find(ctx, conn, id)
		if err != nil {
			return err
		}
		kept := quota.Of(row.Settings, row.Plan, "").Kept(s.retention)
		if states[row.Status] == "" || kept == 0 && row.Status != tenant.StatusDeleted { // one that was never in use is not kept
			erase = true
			return nil
		}
		keep := func(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
			return s.change(ctx, conn, id, s.onDelete, `
				UPDATE ragd.tenants SET status = 'deleted', kept_status = status, deleted_at = now(), erase_at = now() + $2::interval
				WHERE tenant_id = $1 AND status <> 'deleted'`, id, kept)
		}
		if err := keep(ctx, conn, id); err != nil {
			return err
		}
		s.changed()
		// After it, so that an interrupted call is completed by the next.
		if err := s.inOther(ctx, conn, id, func(ctx context.Context, _ *Database, there *pgxpool.Conn, id tenant.ID) error {
			return keep(ctx, there, id)
		}); err != nil {
			return err
		}
		if done, err = s.measure(ctx, conn, id); err != nil {
			s.log.WarnContext(ctx, "what a tenant has could not be counted after its deletion", "tenant", id, "err", err)
		}
		row, err = tenant.Find(ctx, conn, id)
		done.RestorableUntil = row.EraseAt
		return err
	})
	if err == nil && erase {
		return s.Erase(ctx, name)
	}
	return done, err
}

// Restore undoes the deletion of a tenant: its keys are accepted again, and its work goes on. Errors: NotFound, also once it is
// erased; Precondition for a tenant that is not deleted, and while it is erased.
func (s *Service) Restore(ctx context.Context, name string) (Tenant, error) {
	if _, err := access.RequireScope(ctx, access.Operator); err != nil {
		return Tenant{}, err
	}
	id, err := tenant.ParseID(name)
	if err != nil {
		return Tenant{}, err
	}
	if err := s.checkAnswers(ctx, id); err != nil {
		return Tenant{}, err
	}
	err = s.store.locked(ctx, id, func(conn *pgxpool.Conn) error {
		row, err := tenant.Find(ctx, conn, id)
		switch {
		case err != nil:
			return err
		case row.Status == tenant.StatusDeleting:
			return fault.New(fault.Precondition, "tenant %q is being erased, and cannot be restored", id)
		case row.Status != tenant.StatusDeleted:
			return fault.New(fault.Precondition, "tenant %q is not deleted", id)
		}
		restore := func(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
			return s.change(ctx, conn, id, s.onRestore, `
				UPDATE ragd.tenants SET status = kept_status, kept_status = NULL, deleted_at = NULL, erase_at = NULL, updated_at = now()
				WHERE tenant_id = $1 AND status = 'deleted'`, id)
		}
		// Before it, so that an interrupted call is completed by the next.
		if err := s.inOther(ctx, conn, id, func(ctx context.Context, _ *Database, there *pgxpool.Conn, id tenant.ID) error {
			return restore(ctx, there, id)
		}); err != nil {
			return err
		}
		return restore(ctx, conn, id)
	})
	if err != nil {
		return Tenant{}, err
	}
	s.changed()
	return s.tenant(ctx, id)
}

// change updates the row of a tenant in one database and, if that was not done before, what others have of it.
func (s *Service) change(ctx context.Context, conn *pgxpool.Conn, id tenant.ID, then []RowsFunc, update string, args ...any) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, update, args...)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return callAll(ctx, tx, id, then)
	})
	return postgres.Fault(err)
}
