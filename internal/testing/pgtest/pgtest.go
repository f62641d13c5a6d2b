// Package pgtest gives a test a PostgreSQL database of its own, with pgvector.
//
//	func TestStore(t *testing.T) {
//		t.Parallel()
//		pool := pgtest.Pool(t)
//		...
//	}
//
// The server is shared by the tests of one process, started when the first of
// them asks. It is, in this order,
//
//   - the one that RAGD_TEST_DATABASE_URL names (as a URL), with a role that may
//     create databases, roles and the extension;
//   - one from the installed binaries, without fsync, whose cluster is made once
//     and kept in the user's cache folder;
//   - a container of the image RAGD_TEST_IMAGE, by default
//     pgvector/pgvector:pg17, where a container engine runs.
//
// RAGD_TEST_POSTGRES=installed or =container insists on one of the last two.
// With none of them the test is skipped and says why; with CI set it fails.
//
// Nothing outlives the test process, however it ends. Roles are shared by the
// whole server, as always in PostgreSQL: a test that makes roles gives them names
// that no other test uses.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/postgres"
)

// shared starts the process's server once.
var shared = sync.OnceValues(func() (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return newServer(ctx)
})

const (
	startTimeout = 3 * time.Minute // an image may have to be fetched
	dropTimeout  = 30 * time.Second
	closeTimeout = 10 * time.Second
)

// URL returns the address of a fresh database that holds nothing but the vector
// extension, in the schema where [postgres.Open] puts it. It is dropped, with
// whatever is still connected, when the test ends.
func URL(t testing.TB) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		var missing *missingError
		if errors.As(err, &missing) && os.Getenv("CI") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	name := "ragd_test_" + randomName()
	if err := s.create(t.Context(), name); err != nil {
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

// Pool returns a pool on a fresh database. It is closed when the test ends; a
// connection or rows that the test has not given back by then fail it.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), postgres.Config{
		URL: URL(t), MaxConns: 10, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			pool.Close()
		}()
		select {
		case <-closed:
		case <-time.After(closeTimeout):
			t.Errorf("%d connections were not given back to the pool", pool.Stat().AcquiredConns())
		}
	})
	return pool
}

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
