package pgtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// missingError says why no server is available.
type missingError struct{ reasons []string }

func (e *missingError) Error() string {
	return "no PostgreSQL for this test: " + strings.Join(e.reasons, "; ")
}

// server is a PostgreSQL server on which tests get their databases.
type server struct {
	base     *url.URL // of the database that admin is connected to
	admin    *pgxpool.Pool
	template string // the database of which the tests' databases are copies
	fill     fillFunc
	workers  []*server // of a Citus cluster, whose coordinator this server is; empty without one

	mu       sync.Mutex
	filled   map[string]string // the databases of each Template, by its key
	prepared *pgxpool.Config   // of the first pool on a copy of a template; nil before
}

// servers are the servers on which tests get their databases, in turn.
type servers struct {
	list []*server
	used atomic.Uint32
}

// next returns the server for the next database.
func (s *servers) next() *server { return s.list[int(s.used.Add(1)-1)%len(s.list)] }

// openServers starts or connects to the first available servers, in the order of the package
// comment.
func openServers(ctx context.Context) (*servers, error) {
	given := strings.Fields(os.Getenv("RAGD_TEST_DATABASE_URL"))
	if len(given) == 0 || os.Getenv("RAGD_TEST_POSTGRES") != "" {
		s, err := startServer(ctx)
		return &servers{list: []*server{s}}, err
	}
	workers := strings.Fields(os.Getenv("RAGD_TEST_CITUS_WORKERS"))
	if len(given) > 1 && len(workers) > 0 {
		return nil, errors.New("RAGD_TEST_DATABASE_URL has several URLs: with RAGD_TEST_CITUS_WORKERS it must be that of the coordinator alone")
	}
	opened := &servers{}
	for _, address := range given {
		s, err := openCluster(ctx, address, workers)
		if err != nil {
			return nil, err
		}
		opened.list = append(opened.list, s)
	}
	return opened, nil
}

// startServer starts a server.
func startServer(ctx context.Context) (*server, error) {
	source := os.Getenv("RAGD_TEST_POSTGRES")
	var missing missingError
	for _, s := range []struct {
		name  string
		start func(context.Context) (string, error)
	}{{"installed", startInstalled}, {"container", startContainer}} {
		if source != "" && source != s.name {
			continue
		}
		address, err := s.start(ctx)
		if err == nil {
			return openServer(ctx, address, nil)
		}
		var m *missingError
		if source != "" || !errors.As(err, &m) {
			return nil, fmt.Errorf("%s PostgreSQL: %w", s.name, err)
		}
		missing.reasons = append(missing.reasons, m.reasons...)
	}
	if source != "" {
		return nil, fmt.Errorf("RAGD_TEST_POSTGRES is %q: want installed or container", source)
	}
	return nil, &missing
}

// openServer connects to a server and creates the template database if it does not exist.
// Before anything else is in it, fill creates the other extensions of the template; it may be nil.
func openServer(ctx context.Context, address string, fill fillFunc) (*server, error) {
	base, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(base.Scheme, "postgres") {
		return nil, errors.New("RAGD_TEST_DATABASE_URL is not a URL: want postgres://user:password@host:port/database")
	}
	admin, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, err
	}
	s := &server{base: base, admin: admin, fill: fill}
	if err := s.ensureTemplate(ctx); err != nil {
		admin.Close()
		return nil, fmt.Errorf("create the template database: %w", err)
	}
	return s, nil
}

// ensureTemplate creates the template database, which has the extension, if the server does
// not have it. It is never dropped.
func (s *server) ensureTemplate(ctx context.Context) error {
	var version string
	err := s.admin.QueryRow(ctx, `SELECT coalesce(max(default_version), '') FROM pg_available_extensions WHERE name = 'vector'`).Scan(&version)
	if err != nil {
		return err
	}
	s.template = "ragd_test_template_" + version
	return s.ensureDatabase(ctx, s.template, "template1", s.createExtensions)
}

// ensureDatabase creates a database as a copy of another one that fill has changed, and the role of
// ServicePool, if the server does not have them.
func (s *server) ensureDatabase(ctx context.Context, name, from string, fill fillFunc) error {
	return pgx.BeginFunc(ctx, s.admin, func(tx pgx.Tx) error {
		// Other test processes may use the same server.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('ragd_test_template', 0))`); err != nil {
			return err
		}
		if err := ensureServiceRole(ctx, tx); err != nil {
			return err
		}
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&exists); err != nil || exists {
			return err
		}
		return s.makeTemplate(ctx, name, from, fill)
	})
}

// The role of ServicePool. The embedded server has made it already, without a password.
const (
	serviceRole     = "ragd_service"
	servicePassword = "ragd-test"
)

func ensureServiceRole(ctx context.Context, tx pgx.Tx) error {
	var exists bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = $1)`, serviceRole).Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = tx.Exec(ctx, `CREATE ROLE `+quote(serviceRole)+` LOGIN NOINHERIT PASSWORD '`+servicePassword+`'`)
	return err
}

// makeTemplate renames the database when it is complete, so that an incomplete one is never used.
func (s *server) makeTemplate(ctx context.Context, name, from string, fill fillFunc) error {
	raw := "ragd_test_new_" + randomName()
	if err := s.copyDatabase(ctx, raw, from); err != nil {
		return err
	}
	if err := fill(ctx, s.databaseURL(raw)); err != nil {
		return errors.Join(err, s.drop(ctx, raw))
	}
	// A session that has just ended may still be listed, and would prevent the renaming.
	const others = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1`
	if _, err := s.admin.Exec(ctx, others, raw); err != nil {
		return err
	}
	_, err := s.admin.Exec(ctx, `ALTER DATABASE `+quote(raw)+` RENAME TO `+quote(name))
	return err
}

// createExtensions creates the extensions in a database.
func (s *server) createExtensions(ctx context.Context, url string) error {
	if s.fill != nil {
		if err := s.fill(ctx, url); err != nil {
			return err
		}
	}
	pool, err := postgres.Open(ctx, postgres.Config{URL: url, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	pool.Close()
	return nil
}

func (s *server) copyDatabase(ctx context.Context, name, from string) error {
	// Copying the files is five times faster than logging their contents.
	_, err := s.admin.Exec(ctx, `CREATE DATABASE `+quote(name)+` TEMPLATE `+quote(from)+` STRATEGY file_copy`)
	return err
}

// create creates a database as a copy of another one on the server, and one of this name on its workers.
func (s *server) create(ctx context.Context, name, from string) error {
	for _, w := range s.workers {
		if err := w.create(ctx, name, w.template); err != nil {
			return err
		}
	}
	if err := s.copyDatabase(ctx, name, from); err != nil {
		return fmt.Errorf("create the test's database: %w", err)
	}
	return s.join(ctx, name)
}

// drop drops a database of the server and of its workers.
func (s *server) drop(ctx context.Context, name string) (err error) {
	for _, w := range s.workers {
		// After that of the coordinator, which uses theirs.
		defer func() { err = errors.Join(err, w.drop(ctx, name)) }()
	}
	if _, err := s.admin.Exec(ctx, `DROP DATABASE IF EXISTS `+quote(name)+` WITH (FORCE)`); err != nil {
		return fmt.Errorf("drop the test's database: %w", err)
	}
	return nil
}

func (s *server) databaseURL(name string) string {
	u := *s.base
	u.Path = "/" + name
	return u.String()
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
