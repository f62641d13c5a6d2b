package tenant

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/pagination"
	"github.com/ragdhq/ragd/internal/postgres"
	"github.com/ragdhq/ragd/migrations"
)

// ControlSchema is the schema of the service itself: tenants, API keys, backlog, job queue.
const ControlSchema = "ragd"

// MigrateControl migrates the control schema to the newest version, and creates it if it
// does not exist. The job queue's tables in it are migrated by job.Migrate. Call CheckAdmin
// first.
func MigrateControl(ctx context.Context, pool *pgxpool.Pool) error {
	if err := postgres.EnsureSchema(ctx, pool, ControlSchema); err != nil {
		return err
	}
	migrator, err := postgres.NewMigrator(ctx, pool, migrations.Control())
	if err != nil {
		return err
	}
	_, err = migrator.Up(ctx, ControlSchema)
	return err
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
