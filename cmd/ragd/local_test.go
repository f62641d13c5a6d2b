package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// sections returns the sections of client.conf.
func (h *home) sections() []config.Client {
	h.t.Helper()
	clients, err := config.ReadClients(filepath.Join(h.dir, "config", "ragd", "client.conf"))
	if err != nil {
		h.t.Fatal(err)
	}
	return clients
}

func TestASecondServiceKeepsTheKeysOfTheFirst(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	h := newHome(t)
	service := h.serve()
	h.ragd("index", "create", "mine")
	stop(t, service, syscall.SIGTERM)
	first := h.sections()

	h.env = []string{"XDG_DATA_HOME=" + h.dir + "/data2"}
	service = h.serve()
	if out := h.ragd("index", "list", "--json"); out != "" {
		t.Errorf("the second service has the indexes of the first: %s", out)
	}
	stop(t, service, syscall.SIGTERM)
	both := h.sections()
	if len(first) != 1 || len(both) != 2 || both[0] != first[0] || both[1].OperatorKey == "" {
		t.Errorf("client.conf was %+v, is %+v", first, both)
	}

	h.env = nil // the same address again: the keys are those of the service that runs there
	h.serve()
	if out := h.ragd("index", "list"); !strings.Contains(out, "mine") {
		t.Errorf("the first service has the indexes %s", out)
	}
}

// A first start is killed as soon as one of its steps is done. The next start completes it.
func TestAKilledFirstStartIsCompleted(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	exists := func(name string) func(*home) bool {
		return func(h *home) bool {
			found, err := filepath.Glob(filepath.Join(h.dir, "data/ragd/postgres", name))
			return err == nil && len(found) > 0
		}
	}
	for name, done := range map[string]func(*home) bool{
		"initdb began":         exists("cluster.new-*/PG_VERSION"),
		"initdb ended":         exists("cluster/PG_VERSION"),
		"PostgreSQL runs":      exists("cluster/postmaster.pid"),
		"the database exists":  func(h *home) bool { return h.has("postgres", `SELECT FROM pg_database WHERE datname = 'ragd'`) },
		"the schema exists":    func(h *home) bool { return h.has("ragd", `SELECT FROM pg_namespace WHERE nspname = 'ragd'`) },
		"an operator key":      func(h *home) bool { return h.has("ragd", `SELECT FROM ragd.api_keys`) },
		"the tenant exists":    func(h *home) bool { return h.has("ragd", `SELECT FROM ragd.tenants`) },
		"the tenant has a key": func(h *home) bool { return h.has("ragd", `SELECT FROM ragd.api_keys WHERE tenant_id IS NOT NULL`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := shortHome(t)
			h.killWhen(done)
			h.completes()
		})
	}
	t.Run("its keys were lost", func(t *testing.T) {
		t.Parallel()
		h := newHome(t)
		service := h.serve()
		h.ragd("index", "create", "mine")
		stop(t, service, syscall.SIGTERM)
		if err := os.Remove(filepath.Join(h.dir, "config/ragd/client.conf")); err != nil {
			t.Fatal(err)
		}
		h.completes()
		if out := h.ragd("index", "list"); !strings.Contains(out, "mine") {
			t.Errorf("the indexes are %s", out)
		}
	})
}

// shortHome is newHome in a folder with a short path, as the path of a socket is limited.
func shortHome(t *testing.T) *home {
	t.Helper()
	h := newHome(t)
	dir, err := os.MkdirTemp("", "ragd-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.dir = dir
	return h
}

// has reports whether a query has a row; false if the database cannot be asked.
func (h *home) has(database, query string) bool {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, "host="+h.dir+"/data/ragd/postgres/cluster user=ragd dbname="+database)
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	tag, err := conn.Exec(ctx, query)
	return err == nil && tag.RowsAffected() > 0
}

// killWhen starts the service and kills it as soon as done returns true, or when it is
// ready.
func (h *home) killWhen(done func(*home) bool) {
	h.t.Helper()
	cmd := h.command(context.Background(), "serve", "--log-level", "error")
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	defer stop(h.t, cmd, syscall.SIGKILL)
	wait.For(h.t, "the step", func() bool { return done(h) })
}

// completes fails the test unless the service starts and its clients can use it.
func (h *home) completes() {
	h.t.Helper()
	h.serve()
	h.ragd("tenant", "list")
	h.ragd("index", "create", "later")
	if out := h.ragd("tenant", "list", "--json"); strings.Count(out, "tenantId") != 1 {
		h.t.Errorf("the tenants are %s, want the first one alone", out)
	}
}

func TestAFolderForKeysThatCannotBeWrittenIsFoundFirst(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if err := os.MkdirAll(filepath.Join(h.dir, "config/ragd/client.conf.lock"), 0o700); err != nil { // cannot be opened, not even by root
		t.Fatal(err)
	}
	out, err := h.command(t.Context(), "serve").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(string(out), h.dir+"/config") || !strings.Contains(string(out), "XDG_CONFIG_HOME") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "data")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data directory was made: %v", err)
	}
}
