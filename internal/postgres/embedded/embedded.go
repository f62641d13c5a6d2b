package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
)

// The superuser that initdb makes and the database that clients use.
const (
	superuser = "ragd"
	database  = "ragd"
)

// Config says where the server lives. Only DataDir has no default.
type Config struct {
	// DataDir is the folder that belongs to the server alone. It is made if it
	// is missing.
	DataDir string
	// Logger takes what the server says: crashes and fatal errors as warnings,
	// the rest at debug level. Statements and row contents are not in it.
	// Default slog.Default().
	Logger *slog.Logger
	// Settings are added to, and override, those made for this machine.
	Settings map[string]string
}

// Server is a running PostgreSQL. Its methods are safe for concurrent use.
type Server struct {
	cluster *cluster
	lock    *os.File
	log     *slog.Logger
	current atomic.Pointer[process]
	cancel  context.CancelFunc // ends supervise
	done    chan struct{}      // closed when supervise has ended
}

// Start makes the cluster if there is none, starts the server and returns when
// it takes connections; after a crash, that is when it has recovered. The server
// then runs until Stop, whatever becomes of ctx.
//
// Errors by kind: Precondition, each with what to do, for missing binaries or
// pgvector, a data directory of another major version or of another user, and a
// directory that another process uses.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	dir, err := filepath.Abs(cfg.DataDir)
	if cfg.DataDir == "" || err != nil {
		return nil, fault.New(fault.Invalid, "the data directory %q is not a path", cfg.DataDir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap(fault.Precondition, err, "the data directory %s cannot be made: %v", dir, err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{lock: lock, log: cmp.Or(cfg.Logger, slog.Default()), done: make(chan struct{})}
	if err := s.start(ctx, dir, cfg.Settings); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, dir string, settings map[string]string) error {
	c, err := openCluster(filepath.Join(dir, "cluster"))
	if err != nil {
		return err
	}
	s.cluster = c
	if err := stopOrphan(ctx, c.dir, s.log); err != nil {
		return err
	}
	if err := c.init(ctx, s.log); err != nil {
		return err
	}
	if err := c.configure(settings); err != nil {
		return err
	}

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	started := make(chan error, 1)
	go s.supervise(run, started)
	select {
	case err = <-started:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		err = ensureDatabase(ctx, s.url("postgres"))
	}
	if err != nil {
		cancel()
		<-s.done
	}
	return err
}

// URL returns how to connect, as the superuser, to the database ragd.
func (s *Server) URL() string { return s.url(database) }

func (s *Server) url(database string) string {
	q := url.Values{"host": {s.cluster.socketDir}, "user": {superuser}}
	query := strings.ReplaceAll(q.Encode(), "+", "%20") // PostgreSQL's own clients take + for itself
	return (&url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query}).String()
}

// Stop ends the server: open connections are closed, everything is written to
// disk. When ctx ends first it is made to quit at once, which costs the next
// start a recovery but no data, and the error is ctx's. Calls after the first
// only wait.
func (s *Server) Stop(ctx context.Context) error {
	s.cancel()
	err := s.await(ctx)
	if err != nil {
		s.signal(syscall.SIGQUIT)
		select {
		case <-s.done:
		case <-time.After(quitWait):
			s.signal(syscall.SIGKILL)
			<-s.done
		}
	}
	return errors.Join(err, ignoreClosed(s.lock.Close()))
}

// quitWait is how long a server that was told to quit at once may take.
const quitWait = 5 * time.Second

func (s *Server) await(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop PostgreSQL: %w", ctx.Err())
	}
}

func (s *Server) signal(sig syscall.Signal) {
	if p := s.current.Load(); p != nil {
		p.signal(sig)
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// ensureDatabase makes the database on the first start.
func ensureDatabase(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to the embedded server: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1)`, database).Scan(&exists)
	if err == nil && !exists {
		_, err = conn.Exec(ctx, `CREATE DATABASE `+pgx.Identifier{database}.Sanitize())
	}
	if err != nil {
		return fmt.Errorf("make the database %s: %w", database, err)
	}
	return nil
}
