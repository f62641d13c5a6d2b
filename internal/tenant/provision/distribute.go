package provision

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/migrations"
)

// citusLock is the advisory lock of prepareDistribution.
const citusLock = 0x72616764_63697475 // "ragdcitu"

// prepareDistribution gives the shared schema the functions for distributed tenants, and the workers
// all that they run. It does nothing in another database.
func prepareDistribution(ctx context.Context, pool *pgxpool.Pool) error {
	if !postgres.Distributed(pool) {
		return nil
	}
	// Citus gives the workers the owner of the functions too, whom services on other databases of
	// the servers may give them at the same time.
	return withoutConflict(ctx, func() error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(citusLock)); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, migrations.Citus(), pgx.QueryExecModeSimpleProtocol)
			return err
		})
	})
}

// distributeSQL returns statements that distribute a schema, which its owner runs. Its tables go to one
// of the workers, and so do all that are made in it later. The outbox has what triggers leave for the
// coordinator, see migrations/citus.
func distributeSQL(id tenant.ID) string {
	return `CREATE TABLE ` + id.Quoted() + `.outbox (
			entry_id   uuid PRIMARY KEY DEFAULT pg_catalog.gen_random_uuid(),
			created_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
			what       text NOT NULL,
			data       jsonb NOT NULL
		);
		SELECT pg_catalog.citus_schema_distribute('` + id.Quoted() + `');`
}

// prepare creates the role and the empty schema of a tenant that will be distributed, unless they exist:
// workers know them only when the transaction that creates them has ended. It reports whether the schema
// is empty. In another database it does nothing.
func (r roles) prepare(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) (empty bool, err error) {
	if !r.distributed {
		return false, nil
	}
	if row, err := tenant.Find(ctx, conn, id); fault.KindOf(err) != fault.NotFound && (err != nil || row.Status != tenant.StatusCreating) {
		return false, err // create and importable say what is wrong with it
	}
	vectors, err := postgres.VectorSchema(ctx, conn)
	if err != nil {
		return false, err
	}
	var has provisioned
	err = withRole(ctx, conn, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, provisionedSQL, id.Schema())
		if err != nil {
			return err
		}
		has, err = pgx.CollectOneRow(rows, pgx.RowToStructByName[provisioned])
		if err != nil {
			return err
		}
		// The workers find the names of pgvector as the connections of the pool do.
		sql := r.makeRole(id, has.HasRole) + `ALTER ROLE ` + id.Quoted() + ` SET search_path = ` + pgx.Identifier{vectors}.Sanitize() + `;`
		if !has.HasSchema {
			sql += postgres.CreateSchemaSQL(id.Schema(), id.Schema())
		}
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1)`, id.Schema()).Scan(&empty)
	})
	if err != nil || has.HasRole {
		return empty, err
	}
	return empty, disconnect(ctx, conn, id)
}

// rolesSQL returns the statements that make the role of a tenant in the transaction that makes its
// tables; none if prepare has made it.
func (r roles) rolesSQL(id tenant.ID, exists bool) string {
	if r.distributed {
		return ``
	}
	return r.makeRole(id, exists)
}

// schemaSQL returns the statements that make the schema of a tenant, which prepare may have begun.
func (r roles) schemaSQL(id tenant.ID, m *postgres.Migrator) string {
	if r.distributed {
		return m.FillSQL(id.Schema(), id.Schema()) + `; ` + distributeSQL(id) + ` SET LOCAL ROLE NONE;`
	}
	return m.CreateSQL(id.Schema(), id.Schema()) + `; SET LOCAL ROLE NONE;`
}

// disconnect ends the connections to workers that sessions of the database's coordinator have for the role of a tenant, before it is
// dropped, and those for roles that are gone, if it may: they would go on without rights under a new role of that name. Sessions of
// other processes fail once for it, with the kind Unavailable.
func disconnect(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
	var ended int
	err := conn.QueryRow(ctx, `
		SELECT coalesce(sum(n.result::int) FILTER (WHERE n.success), 0)
		FROM (VALUES ('a.usename = %L'), ('a.usesysid NOT IN (SELECT r.oid FROM pg_catalog.pg_roles AS r)')) AS c (condition)
		CROSS JOIN LATERAL pg_catalog.run_command_on_workers(pg_catalog.format(
			'SELECT count(pg_catalog.pg_terminate_backend(a.pid, 5000)) FROM pg_catalog.pg_stat_activity AS a
			WHERE a.datname = pg_catalog.current_database() AND ' || c.condition, $1::text)) AS n`, id.Schema()).Scan(&ended)
	if ended > 0 {
		postgres.ForgetWorkers()
	}
	return postgres.Fault(err)
}
