package provision

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// RowsFunc changes a tenant's rows in the control schema, in a transaction that runs with the rights of the service.
// Those that erase are called twice: when that begins, and when the tenant's schema has been dropped.
type RowsFunc func(ctx context.Context, tx pgx.Tx, id tenant.ID) error

// Erase deletes a tenant with its schema, role, API keys and waiting jobs, also one that was deleted and can be restored. From its
// start the tenant's credentials are rejected: at once on this instance, within seconds on
// others. If an earlier call was interrupted, it completes that. If ctx
// ends before the tenant is erased, Run of any instance completes it. Afterwards it looks for what is
// left, and says what it deleted. Errors: NotFound.
func (s *Service) Erase(ctx context.Context, name string) (done Deletion, err error) {
	id, err := s.removable(ctx, name)
	if err != nil {
		return done, err
	}
	err = s.store.locked(ctx, id, func(conn *pgxpool.Conn) error {
		row, err := tenant.Find(ctx, conn, id)
		if err != nil {
			return err
		}
		if _, err := s.Database(ctx, row.DatabaseName); err != nil { // nothing is deleted while that does not answer
			return err
		}
		found, err := beginDeletion(ctx, conn, id, s.onErase)
		if err != nil {
			return err
		}
		if !found {
			return fault.New(fault.NotFound, "tenant %q not found", id)
		}
		s.changed()
		if done, err = s.measure(ctx, conn, id); err != nil {
			s.log.WarnContext(ctx, "what a tenant has could not be counted before its deletion", "tenant", id, "err", err)
		}
		if err := s.completeDeletion(ctx, conn, id); err != nil {
			return err
		}
		done.Kept, err = verify(ctx, conn, id)
		if err == nil && row.DatabaseName != "" {
			err = s.verifyIn(ctx, row.DatabaseName, id)
		}
		return err
	})
	return done, err
}

// removable returns the id of a tenant that may be deleted or erased now, as far as others have a say. Errors: Denied, Invalid.
func (s *Service) removable(ctx context.Context, name string) (tenant.ID, error) {
	if _, err := access.RequireScope(ctx, access.Operator); err != nil {
		return "", err
	}
	id, err := tenant.ParseID(name)
	if err != nil {
		return "", err
	}
	if err := s.checkAnswers(ctx, id); err != nil {
		return "", err
	}
	if s.before != nil {
		return id, s.before(ctx, id)
	}
	return id, nil
}

// checkAnswers returns an error if the database in which a tenant lives does not answer.
func (s *Service) checkAnswers(ctx context.Context, id tenant.ID) error {
	name, err := s.DatabaseOf(ctx, id)
	if err != nil || name == "" {
		return err
	}
	d, err := s.Database(ctx, name)
	if err != nil {
		return err
	}
	if err := d.Admin().Ping(ctx); err != nil {
		return data.Unreachable(name, err)
	}
	return nil
}

// completeDeletion deletes what a tenant with the status deleting still has: first in the database in
// which it lives, if that is another one, then in the first one.
func (s *Service) completeDeletion(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
	if s.erase != nil {
		if err := s.erase(ctx, conn, id); err != nil {
			return fmt.Errorf("erase what tenant %s has outside the database: %w", id, err)
		}
	}
	if err := s.inOther(ctx, conn, id, s.deleteIn); err != nil {
		return err
	}
	return s.first.completeDeletion(ctx, conn, id, s.onErase)
}

// deleteIn deletes a tenant from another database than the first.
func (s *Service) deleteIn(ctx context.Context, d *Database, conn *pgxpool.Conn, id tenant.ID) error {
	if _, err := beginDeletion(ctx, conn, id, s.onErase); err != nil {
		return err
	}
	return d.completeDeletion(ctx, conn, id, s.onErase)
}

// completeDeletion deletes what a tenant with the status deleting still has in the database.
func (d *Database) completeDeletion(ctx context.Context, conn *pgxpool.Conn, id tenant.ID, onErase []RowsFunc) error {
	var has bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)`, id.Schema()).Scan(&has)
	if err != nil {
		return postgres.Fault(err)
	}
	if has {
		if err := d.site.DropSchema(ctx, conn, id); err != nil {
			return fmt.Errorf("drop the schema of tenant %s: %w", id, err)
		}
	}
	if err := endDeletion(ctx, conn, id, onErase); err != nil {
		return err
	}
	if d.Distributed() {
		if err := disconnect(ctx, conn, id); err != nil {
			return err
		}
	}
	return DropRole(ctx, conn, id)
}

// beginDeletion sets the status deleting and removes the tenant's waiting work. It returns
// false if there is no such tenant.
func beginDeletion(ctx context.Context, conn *pgxpool.Conn, id tenant.ID, onErase []RowsFunc) (found bool, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE ragd.tenants SET status = 'deleting', updated_at = now() WHERE tenant_id = $1`, id)
		if found = tag.RowsAffected() > 0; !found || err != nil {
			return err
		}
		return callAll(ctx, tx, id, onErase)
	})
	return found, postgres.Fault(err)
}

// endDeletion deletes the tenant's row and its keys.
func endDeletion(ctx context.Context, conn *pgxpool.Conn, id tenant.ID, onErase []RowsFunc) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := callAll(ctx, tx, id, onErase); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM ragd.tenants WHERE tenant_id = $1`, id) // deletes its keys too (ON DELETE CASCADE)
		return err
	})
	return postgres.Fault(err)
}

func callAll(ctx context.Context, tx pgx.Tx, id tenant.ID, onErase []RowsFunc) error {
	for _, remove := range onErase {
		if err := remove(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

const (
	// sweepInterval is how often Run looks for interrupted deletions.
	sweepInterval = time.Minute
	// sweepTimeout is how long one attempt to complete a deletion may take.
	sweepTimeout = 10 * time.Minute
)

// Run erases the tenants that can no longer be restored, and completes erasures that were interrupted on any instance, until ctx
// ends. It may run on several instances.
func (s *Service) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "looking for tenants that are to be erased failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// toErase is true for the rows of tenants whose erasure was interrupted, and of those that can no longer be restored.
const toErase = `(status = 'deleting' OR status = 'deleted' AND erase_at <= now())`

// sweep erases the tenants that are to be erased, except those that another call is at. One that fails is logged.
func (s *Service) sweep(ctx context.Context) error {
	rows, err := s.store.pool.Query(ctx, `SELECT tenant_id FROM ragd.tenants WHERE `+toErase+` ORDER BY updated_at LIMIT 1000`)
	if err != nil {
		return postgres.Fault(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[tenant.ID])
	if err != nil {
		return postgres.Fault(err)
	}
	for _, id := range ids {
		err := s.sweepTenant(ctx, id)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.log.WarnContext(ctx, "erasing a tenant failed; it will be tried again", "tenant", id, "err", err)
		}
	}
	return nil
}

func (s *Service) sweepTenant(ctx context.Context, id tenant.ID) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	return s.store.unlessLocked(ctx, id, func(conn *pgxpool.Conn) error {
		var status string
		err := conn.QueryRow(ctx, `SELECT status FROM ragd.tenants WHERE tenant_id = $1 AND `+toErase, id).Scan(&status)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // another call has erased or restored it
		}
		if err != nil {
			return postgres.Fault(err)
		}
		if status == tenant.StatusDeleted {
			if _, err := beginDeletion(ctx, conn, id, s.onErase); err != nil {
				return err
			}
		}
		if err := s.completeDeletion(ctx, conn, id); err != nil {
			return err
		}
		s.log.InfoContext(ctx, "tenant erased", "tenant", id)
		return nil
	})
}

// BeforeDelete sets a function that is called when a tenant is about to be deleted, and may refuse it. Call it before
// the service is used.
func (s *Service) BeforeDelete(do func(ctx context.Context, id tenant.ID) error) { s.before = do }

// BeforeErase sets a function that deletes what a tenant has outside the database, before its row is deleted. conn has the
// lock of the tenant. Call it before the service is used.
func (s *Service) BeforeErase(do func(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error) {
	s.erase = do
}
