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

// MigrateControl brings the control schema up to date, making it if need be. The
// job queue's tables in it are migrated by internal/ingest.
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

// Migrated says what became of one tenant.
type Migrated struct {
	Tenant  ID
	Applied int   // migrations that ran; 0 if none was due
	Err     error // nil if the tenant is up to date
}

// migrateParallel is how many tenants are migrated at once: enough to keep the
// database busy, few enough to leave connections for queries.
const migrateParallel = 4

// MigrateAll brings the schemas of all tenants up to date, several at a time, and
// calls report for each, one call at a time. A tenant that fails does not stop
// the others; running it again goes on with those that failed. It returns how
// many failed; the error is for not being able to list the tenants.
//
// It needs no principal: it is for the operator at the machine, not for requests.
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
