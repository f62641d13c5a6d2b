package tenant

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/pagination"
	"github.com/ragdhq/ragd/internal/postgres"
	"github.com/ragdhq/ragd/migrations"
)

// ControlSchema is the schema of the service itself: tenants, API keys, backlog, job queue.
const ControlSchema = "ragd"

// MigrateControl migrates the control schema to the newest version, and creates it if it
// does not exist. The job queue's tables in it are migrated by job.Migrate. Errors:
// Precondition if the schema belongs to a role whose rights the pool's role does not have.
func MigrateControl(ctx context.Context, pool *pgxpool.Pool) error {
	if err := postgres.EnsureSchema(ctx, pool, ControlSchema); err != nil {
		return err
	}
	if err := checkControlOwner(ctx, pool); err != nil {
		return err
	}
	migrator, err := postgres.NewMigrator(ctx, pool, migrations.Control())
	if err != nil {
		return err
	}
	_, err = migrator.Up(ctx, ControlSchema)
	return err
}

// checkControlOwner returns an error if the pool's role may not change the control schema.
func checkControlOwner(ctx context.Context, pool *pgxpool.Pool) error {
	var owner, role string
	var member bool
	err := pool.QueryRow(ctx, `
		SELECT pg_catalog.pg_get_userbyid(nspowner)::text, current_user::text, pg_catalog.pg_has_role(nspowner, 'MEMBER')
		FROM pg_catalog.pg_namespace WHERE nspname = $1`, ControlSchema).Scan(&owner, &role, &member)
	if err != nil || member {
		return postgres.Fault(err)
	}
	return fault.New(fault.Precondition,
		"the schema %s belongs to the database role %s, but ragd connects as %s: connect as %[2]s, or restore the backup again with pg_restore --no-owner --role=%[3]s", ControlSchema, owner, role)
}

// Migrated is the result of migrating one tenant.
type Migrated struct {
	Tenant  ID
	Applied int   // migrations that ran; 0 if none was due
	Err     error // nil if the tenant is now up to date
}

// migrateParallel is the number of tenants that are migrated at once. It leaves connections
// of the pool for queries.
const migrateParallel = 4

// MigrateAll migrates the schemas of all tenants to the newest version, several at a time,
// and calls report for each, one call at a time. A tenant whose migration fails does not
// stop the others; another call retries it. MigrateAll returns the number of failed
// tenants, and an error only if it cannot list the tenants.
//
// It checks no principal: it is for commands of an operator, not for requests.
func (s *Service) MigrateAll(ctx context.Context, report func(Migrated)) (failed int, err error) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(migrateParallel)
	for after, more := "", true; more; {
		rows, err := s.store.tenants(ctx, after, pagination.MaxSize)
		if err != nil {
			_ = group.Wait() // its functions return no errors
			return failed, fmt.Errorf("list the tenants: %w", err)
		}
		for _, row := range rows {
			after = string(row.TenantID)
			group.Go(func() error {
				applied, err := s.migrator.Up(ctx, row.TenantID.Schema())
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed++
				}
				report(Migrated{row.TenantID, applied, err})
				return nil
			})
		}
		more = len(rows) == pagination.MaxSize
	}
	return failed, group.Wait()
}
