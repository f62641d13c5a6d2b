// Package pgtest gives a test a PostgreSQL database of its own, with pgvector.
//
//	func TestStore(t *testing.T) {
//		t.Parallel()
//		pool := pgtest.Pool(t)
//		...
//	}
//
// All tests share one server. It is the first of these that is available:
//
//   - the server at the URL in RAGD_TEST_DATABASE_URL, whose role must be allowed to
//     create databases, roles and the extension. If there are several URLs, separated by
//     spaces, databases are created on each server in turn. RAGD_TEST_CITUS_WORKERS, if set, has
//     the URLs of the workers of the server, and each database is the coordinator of a
//     Citus cluster;
//   - a server of the installed binaries, without fsync, on a copy of a cluster that is
//     kept in the user's cache folder. The first test process of a `go test` starts it for
//     the tests of all packages;
//   - one of each test process, in a container of the image in RAGD_TEST_IMAGE, by default pgvector/pgvector:pg17, if
//     a container engine runs.
//
// RAGD_TEST_POSTGRES=installed or =container selects one of the last two. If no server is
// available, the test is skipped with the reason; if CI is set, it fails.
//
// Servers and containers are stopped when the last test process ends, even if it is killed.
// PostgreSQL's roles belong to the whole server, as its settings and views of its activity do: a
// test that creates roles must give them names that no other test uses, of any package, and one that
// looks at the activity must look at that of its own database. A test that changes the server itself
// takes one of its own, see [Primary].
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// shared returns the servers of this process, which its first call starts.
var shared = sync.OnceValues(func() (*servers, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return openServers(ctx)
})

const (
	startTimeout = 3 * time.Minute // an image may have to be fetched
	dropTimeout  = 30 * time.Second
	closeTimeout = 10 * time.Second
)

// URL returns the address of a new database with only the vector extension, in the schema
// in which [postgres.Open] creates it. When the test ends, its connections are closed and
// the database is dropped.
func URL(t testing.TB) string {
	t.Helper()
	s := nextServer(t)
	return s.newURL(t, s.template)
}

// nextServer returns the server for a new database of a test, which is skipped or fails if there is none.
func nextServer(t testing.TB) *server {
	t.Helper()
	all, err := shared()
	if err != nil {
		var missing *missingError
		if errors.As(err, &missing) && os.Getenv("CI") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return all.next()
}

// newURL returns the address of a new copy of a database.
func (s *server) newURL(t testing.TB, from string) string {
	t.Helper()
	name := "ragd_test_" + randomName()
	if err := s.create(t.Context(), name, from); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
		defer cancel()
		if err := s.drop(ctx, name); err != nil {
			t.Error(err)
		}
	})
	return s.databaseURL(name)
}

// Pool returns a pool on a new database. It is closed when the test ends. The test fails if
// it has not released a connection or closed its rows by then.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	s := nextServer(t)
	return s.pool(t, s.newURL(t, s.template))
}

// pool is OpenPool for a copy of a template on the server.
func (s *server) pool(t testing.TB, address string) *pgxpool.Pool {
	t.Helper()
	s.mu.Lock()
	prepared := s.prepared
	s.mu.Unlock()
	if prepared != nil {
		return openPrepared(t, address, prepared)
	}
	pool := OpenPool(t, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepared = pool.Config()
	return pool
}

// ServicePool returns a pool on the database of another pool, for a role without rights of
// its own. It is closed when the test ends, as that of Pool is.
func ServicePool(t testing.TB, admin *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	return PoolOf(t, admin, serviceRole, servicePassword)
}

// PoolOf is ServicePool for any role.
func PoolOf(t testing.TB, admin *pgxpool.Pool, role, password string) *pgxpool.Pool {
	t.Helper()
	u, err := url.Parse(admin.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, password)
	query := u.Query()
	query.Del("user")
	u.RawQuery = query.Encode()
	return openPrepared(t, u.String(), admin.Config())
}

// openPrepared is OpenPool for a database that postgres.Open would find as that of another pool: it
// saves the connection with which that looks. A connection costs the server 7 ms of CPU time.
func openPrepared(t testing.TB, address string, like *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	parsed, err := pgxpool.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	config := like.Copy()
	parsed.AfterConnect, parsed.PrepareConn = config.AfterConnect, config.PrepareConn
	parsed.MaxConns, parsed.MaxConnIdleTime = config.MaxConns, config.MaxConnIdleTime
	parsed.MaxConnLifetime, parsed.MaxConnLifetimeJitter = config.MaxConnLifetime, config.MaxConnLifetimeJitter
	parsed.ConnConfig.RuntimeParams = config.ConnConfig.RuntimeParams
	parsed.ConnConfig.StatementCacheCapacity = config.ConnConfig.StatementCacheCapacity
	parsed.ConnConfig.ConnectTimeout = config.ConnConfig.ConnectTimeout
	pool, err := pgxpool.NewWithConfig(t.Context(), parsed)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, pool)
	if err := pool.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	return pool
}

// OpenPool returns a pool on the database at an address, as Pool does.
func OpenPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), postgres.Config{URL: url, MaxConns: 10, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, pool)
	return pool
}

// closeLater closes the pool when the test ends, which fails if connections were not released.
func closeLater(t testing.TB, pool *pgxpool.Pool) {
	t.Cleanup(func() {
		t.Helper()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			pool.Close()
		}()
		select {
		case <-closed:
		case <-time.After(closeTimeout):
			t.Errorf("%d connections were not released to the pool", pool.Stat().AcquiredConns())
		}
	})
}

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
