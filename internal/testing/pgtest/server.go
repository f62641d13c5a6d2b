package pgtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/postgres"
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
}

// newServer starts or connects to the first available server, in the order of the package
// comment.
func newServer(ctx context.Context) (*server, error) {
	source := os.Getenv("RAGD_TEST_POSTGRES")
	if given := os.Getenv("RAGD_TEST_DATABASE_URL"); given != "" && source == "" {
		return openServer(ctx, given)
	}
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
			return openServer(ctx, address)
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
func openServer(ctx context.Context, address string) (*server, error) {
	base, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(base.Scheme, "postgres") {
		return nil, errors.New("RAGD_TEST_DATABASE_URL is not a URL: want postgres://user:password@host:port/database")
	}
	admin, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, err
	}
	s := &server{base: base, admin: admin}
	if err := s.ensureTemplate(ctx); err != nil {
		admin.Close()
		return nil, fmt.Errorf("create the template database: %w", err)
	}
	return s, nil
}

// ensureTemplate creates the template database, which has the extension, if the server does
// not have it. It is never dropped.
func (s *server) ensureTemplate(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.admin, func(tx pgx.Tx) error {
		// Other test processes may use the same server.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('ragd_test_template', 0))`); err != nil {
			return err
		}
		if err := ensureServiceRole(ctx, tx); err != nil {
			return err
		}
		var version string
		err := tx.QueryRow(ctx, `SELECT coalesce(max(default_version), '') FROM pg_available_extensions WHERE name = 'vector'`).Scan(&version)
		if err != nil {
			return err
		}
		// makeTemplate renames the database when it is complete, so that an incomplete
		// one is never used.
		s.template = "ragd_test_template_" + version
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, s.template).Scan(&exists); err != nil || exists {
			return err
		}
		return s.makeTemplate(ctx)
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

func (s *server) makeTemplate(ctx context.Context) error {
	raw := s.template + "_" + randomName()
	if _, err := s.admin.Exec(ctx, `CREATE DATABASE `+quote(raw)); err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, postgres.Config{URL: s.databaseURL(raw), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return errors.Join(err, s.drop(ctx, raw))
	}
	pool.Close()
	// A session that has just ended may still be listed, and would prevent the renaming.
	const others = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1`
	if _, err := s.admin.Exec(ctx, others, raw); err != nil {
		return err
	}
	_, err = s.admin.Exec(ctx, `ALTER DATABASE `+quote(raw)+` RENAME TO `+quote(s.template))
	return err
}

func (s *server) create(ctx context.Context, name string) error {
	// Copying the files is five times faster than logging their contents.
	_, err := s.admin.Exec(ctx, `CREATE DATABASE `+quote(name)+` TEMPLATE `+quote(s.template)+` STRATEGY file_copy`)
	if err != nil {
		return fmt.Errorf("create the test's database: %w", err)
	}
	return nil
}

func (s *server) drop(ctx context.Context, name string) error {
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
