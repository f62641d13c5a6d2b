package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// citusParameter is a setting that connections of a pool have if their database is distributed: it
// allows triggers on distributed tables.
const citusParameter = "citus.enable_unsafe_triggers"

// Distributed reports whether the pool's database is the coordinator of a Citus cluster with workers,
// on which the tables of tenants are distributed by schema. Open has looked for it.
func Distributed(pool *pgxpool.Pool) bool {
	_, ok := pool.Config().ConnConfig.RuntimeParams[citusParameter]
	return ok
}

// Bytes returns the size of the pool's database, on all servers of its cluster if it is distributed. A worker that
// does not answer is left out.
func Bytes(ctx context.Context, pool *pgxpool.Pool) (bytes int64, err error) {
	statement := `SELECT pg_catalog.pg_database_size(pg_catalog.current_database())`
	if Distributed(pool) {
		statement = `
			SELECT coalesce(sum(n.result::bigint), 0)::bigint
			FROM pg_catalog.run_command_on_all_nodes('SELECT pg_catalog.pg_database_size(pg_catalog.current_database())') AS n WHERE n.success`
	}
	err = pool.QueryRow(ctx, statement).Scan(&bytes)
	return bytes, Fault(err)
}

// HasWorkers reports whether the database has the extension Citus and workers for the data of
// tenants.
func HasWorkers(ctx context.Context, q Querier) (has bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')`).Scan(&has)
	if err != nil || !has {
		return false, Fault(err)
	}
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_node WHERE groupid <> 0 AND noderole = 'primary' AND isactive AND shouldhaveshards)`).Scan(&has)
	return has, Fault(err)
}
