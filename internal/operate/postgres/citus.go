package postgres

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
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

// forgotten counts the calls of ForgetWorkers.
var forgotten atomic.Int64

// ForgetWorkers closes the connections of this process to distributed databases before their next use. Sessions of the
// coordinator keep connections to workers, which are of no use after the role that they are for was dropped.
func ForgetWorkers() { forgotten.Add(1) }

// workersKey is the key of the value of forgotten when a connection to a distributed database was opened, in its
// custom data.
const workersKey = "ragd connections to workers"

func noteWorkers(conn *pgx.Conn) {
	if _, distributed := conn.Config().RuntimeParams[citusParameter]; distributed {
		conn.PgConn().CustomData()[workersKey] = forgotten.Load()
	}
}

// knowsWorkers reports whether ForgetWorkers was not called since a connection was opened.
func knowsWorkers(conn *pgx.Conn) bool {
	then, distributed := conn.PgConn().CustomData()[workersKey].(int64)
	return !distributed || then == forgotten.Load()
}

// citusFault is Fault for errors of Citus that have no SQLSTATE of their own: a connection of the coordinator to a worker that is
// broken, and roles or schemas of other tenants that change at the same time.
func citusFault(err error) error {
	var pe *pgconn.PgError
	switch {
	case !errors.As(err, &pe):
	case strings.HasPrefix(pe.Message, "failure on connection marked as essential"):
		return fault.Wrap(fault.Unavailable, err, "the connection to a server of the database broke; retry")
	case pe.Message == "tuple concurrently updated", strings.HasPrefix(pe.Message, "invalid role OID"):
		return fault.Wrap(fault.Conflict, err, "it was changed by another request meanwhile; retry")
	}
	return err
}

// hasWorkers reports whether the database has the extension Citus and workers for the data of
// tenants.
func hasWorkers(ctx context.Context, q Querier) (has bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')`).Scan(&has)
	if err != nil || !has {
		return false, Fault(err)
	}
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_node WHERE groupid <> 0 AND noderole = 'primary' AND isactive AND shouldhaveshards)`).Scan(&has)
	return has, Fault(err)
}
