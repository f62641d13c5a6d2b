package provision

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/migrations"
)

// serviceSchemas are the schemas of the service itself, with their migrations, in the order
// in which they are migrated.
func serviceSchemas() []serviceSchema {
	return []serviceSchema{{tenant.ControlSchema, migrations.Control()}, {tenant.SharedSchema, migrations.Shared()}}
}

type serviceSchema struct {
	name  string
	files fs.FS
}

// MigrateControl migrates the control schema and the shared schema to the newest version,
// creates them if they do not exist, and grants tenants the use of the shared one. The job
// queue's tables are migrated by job.Migrate. Call CheckAdmin first. Errors: Precondition, before
// anything is changed, if a newer ragd has made the database unusable for this one.
func MigrateControl(ctx context.Context, pool *pgxpool.Pool) error {
	if err := checkCompatible(ctx, pool); err != nil {
		return err
	}
	for _, s := range serviceSchemas() {
		if err := postgres.EnsureSchema(ctx, pool, s.name); err != nil {
			return err
		}
		migrator, err := postgres.NewMigrator(ctx, pool, s.files)
		if err != nil {
			return err
		}
		if _, err = migrator.Up(ctx, s.name); err != nil {
			return err
		}
	}
	if err := grantShared(ctx, pool); err != nil {
		return fmt.Errorf("grant tenants the use of the schema %s: %w", tenant.SharedSchema, postgres.Fault(err))
	}
	if err := prepareDistribution(ctx, pool); err != nil {
		return fmt.Errorf("prepare the schema %s for distributed tenants: %w", tenant.SharedSchema, postgres.Fault(err))
	}
	return nil
}

// checkCompatible returns an error if the database needs a newer ragd, or was made by one of the first builds,
// whose migrations were changed after they had run.
func checkCompatible(ctx context.Context, pool *pgxpool.Pool) error {
	var early bool
	if err := pool.QueryRow(ctx, `
		SELECT to_regclass('ragd.api_keys') IS NOT NULL AND NOT EXISTS (
			SELECT FROM pg_catalog.pg_attribute WHERE attrelid = to_regclass('ragd.api_keys') AND attname = 'first_used_at')`).Scan(&early); err != nil {
		return postgres.Fault(err)
	}
	if early {
		return fault.New(fault.Precondition,
			"the database was made by a build of ragd from before 2026-11-25, whose tables no later one continues: use a new data directory or database and ingest the documents again; the build that made it still opens this one")
	}
	var exists bool
	if err := pool.QueryRow(ctx, `SELECT to_regclass('ragd.compatibility') IS NOT NULL`).Scan(&exists); err != nil || !exists {
		return postgres.Fault(err)
	}
	var needs int
	if err := pool.QueryRow(ctx, `SELECT control_version FROM ragd.compatibility`).Scan(&needs); err != nil {
		return postgres.Fault(err)
	}
	if knows := migrations.Newest(migrations.Control()); needs > knows {
		return fault.New(fault.Precondition,
			"the database was migrated by a newer ragd: it needs one that knows version %d of the schema %s, but this one knows up to %d: run the newer ragd, or restore the backup from before the upgrade",
			needs, tenant.ControlSchema, knows)
	}
	return nil
}

// grantShared lets every role use the shared schema and the rows that are its own. Roles
// that are not of a tenant own none. A tenant's role gets these rights by no grant of its
// own: the list of grants would grow with the tenants.
func grantShared(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(grantLock)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `GRANT USAGE ON SCHEMA `+tenant.SharedSchema+` TO PUBLIC;
			DO $$
			DECLARE
				shared regclass;
			BEGIN
				FOR shared IN SELECT c.oid FROM pg_catalog.pg_class AS c WHERE c.relnamespace = '`+tenant.SharedSchema+`'::regnamespace AND c.relkind = 'r' AND c.relrowsecurity LOOP
					EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO PUBLIC', shared);
				END LOOP;
			END
			$$`, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}
