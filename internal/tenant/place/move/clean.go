package move

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// undo lets the writes of a tenant go on in the old database.
func (s *Service) undo(ctx context.Context, m Move) error {
	from, err := s.config.Tenants.Database(ctx, m.From)
	if err != nil {
		return err
	}
	return s.with(ctx, m.From, func(conn *pgxpool.Conn) error {
		return unwatch(ctx, &copying{id: m.TenantID, from: from, source: conn})
	})
}

// cleanTarget removes the copy of a move that has failed. If it cannot, Run lets it be tried again.
func (s *Service) cleanTarget(ctx context.Context, control *pgxpool.Conn, m Move) error {
	if err := checkPlace(ctx, control, m.TenantID, m.From); err != nil {
		return err
	}
	err := s.removeFrom(ctx, m.To, m.TenantID)
	if err != nil {
		s.config.Logger.WarnContext(ctx, "the copy of a move that has failed was not removed yet", "tenant", m.TenantID, "err", err)
		return nil
	}
	return cleaned(ctx, control, m)
}

// clean is cleanTarget for a move that has failed before, unless a later move has to do with its target.
func (s *Service) clean(ctx context.Context, control *pgxpool.Conn, m Move) error {
	if m.Step == "" {
		return nil
	}
	place, err := placeOf(ctx, control, m.TenantID)
	if err != nil {
		return err
	}
	if place == m.To {
		return cleaned(ctx, control, m)
	}
	if err := s.removeFrom(ctx, m.To, m.TenantID); err != nil {
		return err
	}
	return cleaned(ctx, control, m)
}

// removeFrom removes what a database has of a tenant that it does not serve.
// A database that is no longer registered keeps it.
func (s *Service) removeFrom(ctx context.Context, database string, id tenant.ID) error {
	return s.ifRegistered(ctx, database, func(conn *pgxpool.Conn) error {
		if err := removeCopy(ctx, conn, id, database == ""); err != nil {
			return postgres.Fault(err)
		}
		return provision.DropRole(ctx, conn, id)
	})
}

// leave takes the tenant's work from the old database, and renames its schema there.
func (s *Service) leave(ctx context.Context, control *pgxpool.Conn, m Move) error {
	if err := checkPlace(ctx, control, m.TenantID, m.To); err != nil {
		return err
	}
	if err := s.with(ctx, m.To, func(conn *pgxpool.Conn) error { return release(ctx, conn, m.TenantID) }); err != nil {
		return err
	}
	err := s.ifRegistered(ctx, m.From, func(conn *pgxpool.Conn) error { return leaveSchema(ctx, conn, m.TenantID) })
	if err != nil {
		return fmt.Errorf("let the tenant leave the old database: %w", postgres.Fault(err))
	}
	return enter(ctx, control, m, Dropping)
}

// with calls do with a connection to a database that has the rights of its administrator.
func (s *Service) with(ctx context.Context, database string, do func(conn *pgxpool.Conn) error) error {
	d, err := s.config.Tenants.Database(ctx, database)
	if err != nil {
		return err
	}
	conn, err := d.Admin().Acquire(ctx)
	if err != nil {
		return postgres.Fault(err)
	}
	defer conn.Release()
	return do(conn)
}

// ifRegistered is with, which does nothing for a database that is no longer registered.
func (s *Service) ifRegistered(ctx context.Context, database string, do func(conn *pgxpool.Conn) error) error {
	if _, err := s.config.Tenants.Database(ctx, database); fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return s.with(ctx, database, do)
}

// leaveSchema takes the tenant's work from the old database, and renames its schema there.
func leaveSchema(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := removeWork(ctx, tx, id); err != nil {
			return err
		}
		there, err := collectValues[bool](ctx, tx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)`, id.Schema())
		if err != nil || !there[0] {
			return err
		}
		_, err = tx.Exec(ctx, `ALTER SCHEMA `+pgx.Identifier{id.Schema()}.Sanitize()+` RENAME TO `+pgx.Identifier{leftSchema(id)}.Sanitize())
		return err
	})
}

// drop removes what the old database has of a tenant.
func (s *Service) drop(ctx context.Context, control *pgxpool.Conn, m Move) error {
	if err := checkPlace(ctx, control, m.TenantID, m.To); err != nil {
		return err
	}
	if err := s.removeFrom(ctx, m.From, m.TenantID); err != nil {
		return fmt.Errorf("drop the old copy: %w", err)
	}
	return enter(ctx, control, m, Done)
}
