package pgtest

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// Server is a PostgreSQL server that one test has for itself, with the database and the roles of
// an embedded one.
type Server struct {
	dir      string
	settings map[string]string
	running  *embedded.Server // nil while it is stopped
}

// Primary starts a server that can have replicas. It stops when the test ends. The test is skipped
// without installed binaries of PostgreSQL; if CI is set, it fails.
func Primary(t testing.TB) *Server {
	t.Helper()
	if _, err := embedded.Default(); err != nil {
		if os.Getenv("CI") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	s := newOwnServer(t)
	s.Start(t)
	return s
}

// Logical is Primary for a server whose changes can be decoded.
func Logical(t testing.TB) *Server {
	t.Helper()
	s := Primary(t)
	s.Kill()
	s.settings["wal_level"] = "logical"
	s.Start(t)
	return s
}

// newOwnServer returns a server in a new folder, which is removed when the test ends.
func newOwnServer(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp(tempDir(), "ragd-pgtest-own-")
	if err != nil {
		t.Fatal(err)
	}
	// A replica, which may run as another user, connects to the socket in the folder of its primary.
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := whenProcessEnds(stopScript, dir); err != nil {
		t.Fatal(err)
	}
	s := &Server{dir: dir, settings: maps.Clone(settings)}
	// Otherwise a replica would get a commit only when the log is next written.
	s.settings["synchronous_commit"] = "local"
	t.Cleanup(func() {
		s.Kill()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Start starts the server after Kill.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	running, err := embedded.Start(ctx, embedded.Config{DataDir: s.dir, Logger: slog.New(slog.DiscardHandler), Settings: s.settings})
	if err != nil {
		t.Fatal(err)
	}
	s.running = running
}

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() {
	if s.running == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.running.Stop(ctx) // always the error of ctx
	s.running = nil
}

// AdminURL returns the address of the database for the superuser.
func (s *Server) AdminURL() string { return s.running.AdminURL() }

// ServiceURL returns the address of the database for the role of ServicePool.
func (s *Server) ServiceURL() string { return s.running.URL() }

// Pool returns a pool of the superuser, which is closed when the test ends.
func (s *Server) Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return OpenPool(t, s.AdminURL())
}

// Exec runs statements as the superuser.
func (s *Server) Exec(t testing.TB, sql string) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), s.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// Replica starts a streaming replica of the server. It stops when the test ends.
func (s *Server) Replica(t testing.TB) *Server {
	t.Helper()
	install, err := embedded.Default()
	if err != nil {
		t.Fatal(err)
	}
	r := newOwnServer(t)
	cluster := filepath.Join(r.dir, "cluster")
	cmd := exec.CommandContext(t.Context(), filepath.Join(install.BinDir, "pg_basebackup"),
		"--dbname="+s.AdminURL(), "--pgdata="+cluster, "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	locks, err := filepath.Glob(filepath.Join(cluster, ".s.PGSQL.*")) // of the server's socket, which is in its folder
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range locks {
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
	}
	if err := sameOwner(filepath.Join(s.dir, "cluster"), r.dir); err != nil {
		t.Fatal(err)
	}
	r.Start(t)
	return r
}

// sameOwner gives everything in a folder the owner of another one.
func sameOwner(of, dir string) error {
	info, err := os.Stat(of)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("the owners of files are not known")
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
}

// Pause stops a replica from replaying the log, until Resume. Statements of the replica then see an
// old state.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	s.Exec(t, `SELECT pg_wal_replay_pause()`)
	s.await(t, `SELECT pg_get_wal_replay_pause_state() = 'paused'`)
}

// Resume lets a replica replay the log again.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.Exec(t, `SELECT pg_wal_replay_resume()`)
}

// Promote makes a replica a primary.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Exec(t, `SELECT pg_promote()`)
	s.await(t, `SELECT NOT pg_is_in_recovery()`)
}

// await waits until a query returns true.
func (s *Server) await(t testing.TB, sql string) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), s.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	wait.For(t, sql, func() bool {
		var is bool
		return pool.QueryRow(t.Context(), sql).Scan(&is) == nil && is
	})
}

// Conninfo returns the address of a server for a replica that is to follow it, as the setting
// primary_conninfo.
func Conninfo(of *Server) string {
	address, err := pgxpool.ParseConfig(of.AdminURL())
	if err != nil {
		panic(err) // the server's own
	}
	return "host=" + address.ConnConfig.Host + " user=" + address.ConnConfig.User
}
