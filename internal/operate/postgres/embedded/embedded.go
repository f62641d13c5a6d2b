package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

const (
	superuser   = "ragd"         // created by initdb
	serviceRole = "ragd_service" // for the statements of requests and jobs
	database    = "ragd"
)

// Config holds the settings of a server. Only DataDir has no default.
type Config struct {
	// DataDir is the folder of the server's files. Start creates it if it is missing.
	// Nothing else may use it.
	DataDir string
	// Logger receives the server's log: crashes and fatal errors as warnings, the rest
	// at debug level. It contains no statements and no rows. Default slog.Default().
	Logger *slog.Logger
	// Settings are PostgreSQL settings that are added to those that ragd derives from
	// the machine, and override them.
	Settings map[string]string
	// Archive is a folder of backups (see TakeBackup) to which the server copies its
	// write-ahead log within a minute, so that Restore can restore any moment since the
	// oldest backup. Default: none.
	Archive string

	lingerWait time.Duration // lingerWait by default; tests shorten it
}

// Server is a running PostgreSQL. Its methods are safe for concurrent use.
type Server struct {
	cluster *cluster
	lock    *os.File
	log     *slog.Logger
	current atomic.Pointer[process]
	cancel  context.CancelFunc // ends supervise
	done    chan struct{}      // closed when supervise has ended

	lingerWait time.Duration // how long a start waits for the processes of a killed server
}

// Start creates the cluster if there is none, starts the server and returns when it
// accepts connections; after a crash, that is when recovery has ended. The server then
// runs until Stop, even if ctx ends.
//
// Errors: Precondition, with what to do, for a system on which there is no such server, missing binaries or a missing pgvector, a
// data directory of another major version or another user, and a directory that another
// process uses.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(cfg.DataDir)
	if cfg.DataDir == "" || err != nil {
		return nil, fault.New(fault.Invalid, "the data directory %q is not a valid path", cfg.DataDir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, notWritable(dir, err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{lock: lock, log: cmp.Or(cfg.Logger, slog.Default()), done: make(chan struct{}), lingerWait: cmp.Or(cfg.lingerWait, lingerWait)}
	if err := s.start(ctx, dir, cfg); err != nil {
		_ = unlockDir(lock)
		return nil, err
	}
	return s, nil
}

// Running returns the address for the superuser of the server that a ragd runs on a data
// directory, without starting one. exists tells whether the directory has a cluster; the
// address is "" if no server runs on it. Errors: as of Start for binaries and the directory.
func Running(dataDir string) (adminURL string, exists bool, err error) {
	if err := supported(); err != nil {
		return "", false, err
	}
	dir, err := filepath.Abs(filepath.Join(dataDir, "cluster"))
	if err != nil {
		return "", false, err
	}
	major, err := clusterMajor(dir)
	if err != nil || major == 0 {
		return "", false, err
	}
	c, err := openCluster(dir)
	if err != nil {
		return "", true, err
	}
	if pid, _ := readPidFile(dir); pid == 0 || !isOurs(pid, dir) {
		return "", true, nil
	}
	return (&Server{cluster: c}).AdminURL(), true, nil
}

// notWritable returns the error for a data directory in which a file or folder cannot be
// created. err is an error of package os, of which only the reason is shown.
func notWritable(dir string, err error) error {
	reason := err
	if inner := errors.Unwrap(err); inner != nil {
		reason = inner
	}
	return fault.New(fault.Precondition,
		"the data directory %s cannot be written (%v): let the user %d who runs ragd write there, or use another --data-dir", dir, reason, os.Geteuid())
}

func (s *Server) start(ctx context.Context, dir string, cfg Config) error {
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
	settings := maps.Clone(cfg.Settings)
	if cfg.Archive != "" {
		archive, err := c.archiveSettings(ctx, cfg.Archive)
		if err != nil {
			return err
		}
		maps.Copy(archive, settings)
		settings = archive
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
		err = prepare(ctx, s.url(superuser, "postgres"))
	}
	if err != nil {
		cancel()
		<-s.done
	}
	return err
}

// URL returns the address of the database for a role without rights of its own: it can log
// in, and use what it was granted by the role of AdminURL.
func (s *Server) URL() string { return s.url(serviceRole, database) }

// AdminURL returns the address of the database for the superuser, who creates and migrates
// schemas and roles.
func (s *Server) AdminURL() string { return s.url(superuser, database) }

func (s *Server) url(user, database string) string {
	q := url.Values{"host": {s.cluster.socketDir}, "user": {user}}
	query := strings.ReplaceAll(q.Encode(), "+", "%20") // psql and pg_dump do not decode + as a space
	return (&url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query}).String()
}

// Stop shuts the server down: it closes open connections and writes everything to disk.
// If ctx ends first, Stop terminates the server at once and returns ctx's error; no data
// is lost, but the next start needs a recovery. Later calls only wait for the end.
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
	return errors.Join(err, ignoreClosed(unlockDir(s.lock)))
}

// quitWait is how long an immediate shutdown may take before the server is killed.
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

// prepare creates the database and the role of the service if they do not exist.
func prepare(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to the embedded server: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var hasDatabase, hasRole bool
	err = conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1), EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = $2)`,
		database, serviceRole).Scan(&hasDatabase, &hasRole)
	if err == nil && !hasDatabase {
		_, err = conn.Exec(ctx, `CREATE DATABASE `+pgx.Identifier{database}.Sanitize())
	}
	if err == nil && !hasRole {
		// NOINHERIT: it has the rights of a tenant's role only while it is set.
		_, err = conn.Exec(ctx, `CREATE ROLE `+pgx.Identifier{serviceRole}.Sanitize()+` LOGIN NOINHERIT`)
	}
	if err != nil {
		return fmt.Errorf("create the database %s and its role: %w", database, err)
	}
	return nil
}
