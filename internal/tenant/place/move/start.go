package move

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// Start begins to move a tenant to a database. Errors: Denied unless the caller is the operator; NotFound for the tenant
// and the database; Unavailable when the database is down; Precondition if the tenant lives there or is being moved.
func (s *Service) Start(ctx context.Context, tenantName, database string) (Move, error) {
	if err := access.RequireOperator(ctx); err != nil {
		return Move{}, err
	}
	found, err := s.config.Tenants.GetActive(ctx, tenantName)
	if err != nil {
		return Move{}, err
	}
	if database == "" {
		return Move{}, fault.Field("databaseName", "is required: the name of the database, %s for the first one", tenant.FirstDatabase)
	}
	to, err := s.config.Tenants.DatabaseFor(ctx, database, found.TenantID)
	if err != nil {
		return Move{}, err
	}
	if err := s.checkStart(ctx, found.TenantID, to); err != nil {
		return Move{}, err
	}
	if m, err := unfinished(ctx, s.config.Control, found.TenantID); err == nil && m.Phase == Dropping {
		if err := s.Settle(ctx, found.TenantID); err != nil { // the move begins without the old copy
			return Move{}, err
		}
	}
	var m Move
	err = pgx.BeginFunc(ctx, s.config.Control, func(tx pgx.Tx) error {
		from, err := placeOf(ctx, tx, found.TenantID)
		if err != nil {
			return err
		}
		if m, err = insert(ctx, tx, uuid.Must(uuid.NewV7()).String(), found.TenantID, from, to.Name); err != nil {
			return err
		}
		return s.config.Queue.EnqueueAsService(ctx, tx, job.Move, job.Task{Tenant: m.TenantID, Name: m.ID})
	})
	return m, postgres.Fault(err)
}

// checkStart returns an error if a tenant cannot be moved to a database now, before its old copy elsewhere is dropped.
func (s *Service) checkStart(ctx context.Context, id tenant.ID, to *provision.Database) error {
	name, err := placeOf(ctx, s.config.Control, id)
	if err != nil {
		return err
	}
	if name == to.Name {
		return fault.New(fault.Precondition, "the tenant %q lives in the database %s already", id, to.Title())
	}
	from, err := s.config.Tenants.Database(ctx, name)
	if err != nil {
		return err
	}
	for _, d := range []*provision.Database{from, to} {
		if d.Distributed() {
			return fault.New(fault.Precondition, "the tenants of the database %s are spread by Citus, from and to which none is moved: export the tenant, and import the archive under another name", d.Title())
		}
		if err := d.Admin().Ping(ctx); err != nil {
			return postgres.Fault(err)
		}
	}
	return nil
}

// InUse returns an error if a move from or to a registered database has not ended, or the database has to keep its old copy
// of a tenant. No move begins until tx ends. Errors: Precondition.
func InUse(ctx context.Context, tx pgx.Tx, database string) error {
	if _, err := tx.Exec(ctx, `LOCK TABLE ragd.moves IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return postgres.Fault(err)
	}
	open, err := notEnded(ctx, tx)
	if err != nil {
		return err
	}
	for _, m := range open {
		switch {
		case m.From == database && m.Phase == Dropping && time.Now().After(*m.KeepUntil): // it may be down for good
		case m.From == database && m.Phase == Dropping:
			return fault.New(fault.Precondition, "the database %q keeps a copy of the tenant %q, which was moved: remove the database after %s, when the copy is dropped", database, m.TenantID, m.KeepUntil.UTC().Format(time.RFC3339))
		case m.From == database, m.To == database:
			return fault.New(fault.Precondition, "the tenant %q is being moved from or to the database %q: wait for the end of the move", m.TenantID, database)
		}
	}
	return nil
}
