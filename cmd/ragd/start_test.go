package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// failsToStart runs `ragd serve` with these arguments and fails the test unless it prints
// one line, which begins with want, and exits with exitFailed.
func (h *home) failsToStart(want string, args ...string) {
	h.t.Helper()
	out, err := h.command(h.t.Context(), append([]string{"serve"}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.HasPrefix(string(out), "ragd: "+want) || strings.Count(string(out), "\n") != 1 {
		h.t.Errorf("ragd serve %s: %v\ngot  %swant ragd: %s", strings.Join(args, " "), err, out, want)
	}
}

// Every mistake that keeps the service from starting is answered by one line with what is
// wrong, why, and what to do.
func TestMistakesAtTheStart(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	h := newHome(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	h.failsToStart("cannot listen on "+address+": another program listens there, perhaps another ragd: stop it, or choose another address with --listen or RAGD_LISTEN\n", "--listen", address)
	h.failsToStart(`listen: want an address such as 127.0.0.1:8484 or :8484, with a port up to 65535, got "127.0.0.1:99999"`, "--listen", "127.0.0.1:99999")
	h.failsToStart(`listen: want an address such as 127.0.0.1:8484 or :8484, with a port up to 65535, got "8484"`, "--listen", "8484")
	h.failsToStart("cannot listen on 192.0.2.1:8484: no network interface of this machine has that address", "--listen", "192.0.2.1:8484")

	aFile := filepath.Join(h.dir, "file")
	if err := os.WriteFile(aFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.failsToStart("the data directory "+aFile+"/postgres cannot be written (not a directory): let the user", "--data-dir", aFile)
	old := filepath.Join(h.dir, "old")
	if err := errors.Join(os.MkdirAll(filepath.Join(old, "postgres/cluster"), 0o700), os.WriteFile(filepath.Join(old, "postgres/cluster/PG_VERSION"), []byte("9\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	h.failsToStart("the data directory "+old+"/postgres/cluster was made by PostgreSQL 9, but", "--data-dir", old)

	h.env = []string{"RAGD_DATABASE_URL=postgres://ragd:se@cret@127.0.0.1:1/ragd"}
	h.failsToStart("database-url is malformed: want postgres://user:password@host:port/database, with special characters of user and password percent-encoded")
	h.env = []string{"RAGD_DATABASE_URL=postgres://ragd:secret@127.0.0.1:1/ragd"}
	h.failsToStart("the database server at 127.0.0.1:1 cannot be reached: connection refused: check that PostgreSQL runs there, and the address in database-url\n")
	h.env = []string{"RAGD_DATABASE_ADMIN_URL=postgres://ragd:secret@127.0.0.1:1/ragd"}
	h.failsToStart("database-admin-url: needs database-url")
	h.env = nil

	h.env = []string{"XDG_CONFIG_HOME=", "HOME=", "RAGD_DATABASE_URL=postgres://ragd@127.0.0.1:1/ragd"}
	h.failsToStart("the database server at 127.0.0.1:1 cannot be reached") // a service needs no home
	h.env = h.env[:2]
	h.failsToStart("find the configuration folder: neither $XDG_CONFIG_HOME nor $HOME are defined; set XDG_CONFIG_HOME")
	h.env = nil

	h.serve()
	h.failsToStart("the data directory "+h.dir+"/data/ragd/postgres is in use by another ragd (process ", "--listen", "127.0.0.1:0")
	out, err := h.command(t.Context(), "tenant", "repair").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is in use by another ragd") {
		t.Errorf("a repair beside the service: %v: %s", err, out)
	}
}
