package pgtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// fillFunc creates what a template database has besides the vector extension.
type fillFunc func(ctx context.Context, url string) error

// openCluster is openServer for a server with the given Citus workers, which may be none.
func openCluster(ctx context.Context, coordinator string, workers []string) (*server, error) {
	if len(workers) == 0 {
		return openServer(ctx, coordinator, nil)
	}
	s, err := openServer(ctx, coordinator, createCitus)
	if err != nil {
		return nil, err
	}
	for i, address := range workers {
		w, err := openServer(ctx, address, createCitus)
		if err != nil {
			return nil, fmt.Errorf("worker %d in RAGD_TEST_CITUS_WORKERS: %w", i+1, err)
		}
		s.workers = append(s.workers, w)
	}
	return s, nil
}

// join makes the databases of this name on the server and on its workers one distributed database.
// Copies of a template could not have this, because a coordinator and its workers must
// be known to each other under the name of the database.
func (s *server) join(ctx context.Context, name string) error {
	if len(s.workers) == 0 {
		return nil
	}
	// One at a time: joining changes the roles of the workers, which all databases share.
	return pgx.BeginFunc(ctx, s.admin, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('ragd_test_join', 0))`); err != nil {
			return err
		}
		return s.joinPatiently(ctx, name)
	})
}

// joinAttempts limits how often joinPatiently tries again while tests change roles on the workers.
const joinAttempts = 20

// joinPatiently is joinLocked, again while it conflicts with changes of roles.
func (s *server) joinPatiently(ctx context.Context, name string) (err error) {
	for range joinAttempts {
		err = s.joinLocked(ctx, name)
		if code := postgres.Code(err); code != "XX000" && code != "40P01" {
			return err
		}
	}
	return err
}

// joinLocked is join while no other database is joined.
func (s *server) joinLocked(ctx context.Context, name string) error {
	return inDatabase(ctx, s.databaseURL(name), func(conn *pgx.Conn) error {
		var b pgx.Batch
		// The roles of other tests, which it would compare with those of the workers.
		b.Queue(`SELECT set_config('citus.enable_create_role_propagation', 'off', false), set_config('citus.enable_alter_role_propagation', 'off', false)`)
		b.Queue(`SELECT citus_set_coordinator_host($1, $2::int)`, s.base.Hostname(), s.base.Port())
		for _, w := range s.workers {
			b.Queue(`SELECT citus_add_node($1, $2::int)`, w.base.Hostname(), w.base.Port())
		}
		if err := conn.SendBatch(ctx, &b).Close(); err != nil {
			return fmt.Errorf("join the servers of Citus: %w", err)
		}
		return nil
	})
}

// createCitus creates the extension in a database, before others: Citus takes part in the creation of these.
func createCitus(ctx context.Context, address string) error {
	return inDatabase(ctx, address, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `CREATE EXTENSION citus`)
		return err
	})
}

// inDatabase calls do with a connection to a database.
func inDatabase(ctx context.Context, address string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(conn)
}

// Cluster returns the address of a new database like [URL], and that of one on a single server of the same
// kind. A test that asks for them is skipped unless tests run against a Citus cluster.
func Cluster(t testing.TB) (distributed, single string) {
	t.Helper()
	s := nextServer(t)
	if len(s.workers) == 0 {
		t.Skip("this needs a Citus cluster: run `make test-citus`")
	}
	return s.newURL(t, s.template), s.workers[0].newURL(t, s.workers[0].template)
}
