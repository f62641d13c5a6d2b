package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/operate"
	"github.com/ragdhq/ragd/internal/operate/doctor"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("doctor"), stdout: "...the key from client.conf is valid for tenant acme, with the scopes read, write, admin\nok  operator key"})
	s.env["RAGD_API_KEY"] = "wrong"
	s.want(t, step{
		args: args("doctor"), code: 2, stderr: "ragd: 1 of 7 checks failed\n",
		stdout: "...URL refused the key from RAGD_API_KEY: it is wrong, was revoked, has expired, or belongs to another service; `ragd key create` makes a key, RAGD_API_KEY sets it\n",
	})
	other := config.Client{DataDir: "/other", Server: "http://127.0.0.1:2", APIKey: "ragd_theirs"}
	path := filepath.Join(s.env["XDG_CONFIG_HOME"], "ragd", "client.conf")
	if err := other.Write(path); err != nil {
		t.Fatal(err)
	}
	s.env["RAGD_API_KEY"], s.env["RAGD_SERVER"] = "ragd_theirs", s.url
	s.want(t, step{
		args: args("doctor"), code: 2, stderr: "ragd: 1 of 7 checks failed\n",
		stdout: "...URL refused the key from RAGD_API_KEY: it is a key of http://127.0.0.1:2 (data directory /other), not of URL; `ragd key create`",
	})
	s.env["RAGD_SERVER"] = "127.0.0.1:1"
	s.want(t, step{
		args: args("doctor --json"), code: 2, stderr: "ragd: 3 of 7 checks failed\n",
		stdout: "...no answer from http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused",
	})
	delete(s.env, "RAGD_API_KEY")
	s.want(t, step{
		args: args("doctor"), code: 2, stderr: "ragd: 3 of 7 checks failed\n",
		stdout: "...there is no key: set RAGD_API_KEY, or run on the machine of the service as the user who runs it; client.conf has keys of URL (data directory /data), http://127.0.0.1:2 (data directory /other) only\n",
	})
}

// A key may end with a line break, as it does when it is read from a file.
func TestKeysOfDoubtfulForm(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.env["RAGD_SERVER"], s.env["RAGD_OPERATOR_KEY"] = s.url, operatorSecret+"\r\n"
	s.want(t, step{args: args("tenant list"), stdout: anything})
	s.env["RAGD_API_KEY"] = "ragd_one\nragd_two"
	s.want(t, step{args: args("index list"), code: 2, stderr: "...the key from RAGD_API_KEY contains a line break or another control character: set it anew"})
	s.env["RAGD_OPERATOR_KEY"] = "wrong-operator-key"
	s.want(t, step{args: args("tenant list"), code: 1, stderr: "...refused the key from RAGD_OPERATOR_KEY: it is wrong, was revoked, has expired, or belongs to another service; RAGD_OPERATOR_KEY must be the operator-key of the service"})
}

func TestDoctorFixInstallsBeforeItChecks(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.install = func(_ context.Context, out io.Writer) error {
		fmt.Fprintln(out, "install: PostgreSQL")
		return nil
	}
	s.want(t, step{args: args("doctor --fix"), stdout: "...ok  tenant access", stderr: "install: PostgreSQL\n"})
	s.install = func(context.Context, io.Writer) error { return errors.New("no package manager here") }
	s.want(t, step{args: args("doctor --fix"), code: 3, stderr: "ragd: no package manager here\n"})
}

func TestDoctorWithTheOperatorsKeyAlone(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.env = map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "XDG_DATA_HOME": t.TempDir(), "RAGD_SERVER": s.url, "RAGD_OPERATOR_KEY": operatorSecret}
	s.want(t, step{args: args("doctor"), stdout: "...ok  tenant access  the operator's key belongs to no tenant; --tenant names one to check\n"})
}

// The database of the tests is one that doctor must warn of: it writes nothing to disk.
func TestDoctorChecksTheDatabaseThatIsSet(t *testing.T) {
	t.Parallel()
	url, models := pgtest.URL(t), modelserver.New(t)
	const master = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	s := newSession(t, "RAGD_DATABASE_URL="+url, "RAGD_ALLOWED_PRIVATE_NETWORKS=127.0.0.1", "RAGD_MASTER_KEY="+master)
	s.env["RAGD_DATABASE_URL"] = url
	path := filepath.Join(t.TempDir(), "endpoint.key")
	if err := os.WriteFile(path, []byte("endpoint-secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(t, step{args: args("endpoint create mine --kind openai-compatible --base-url " + models.URL + "/v1 --key-file " + path), stdout: anything})
	run := func(line string, code int) map[string]doctor.Finding {
		t.Helper()
		got, stdout, stderr := s.run(args(line)...)
		if got != code {
			t.Fatalf("ragd %s: exit code %d, want %d: %s%s", line, got, code, stdout, stderr)
		}
		var answer struct{ Checks []doctor.Finding }
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
			t.Fatal(err, stdout)
		}
		for _, secret := range []string{operatorSecret, secretOf(t, s), master, "endpoint-secret", "top-secret"} {
			if strings.Contains(stdout+stderr, secret) {
				t.Errorf("ragd %s shows the secret %q: %s", line, secret, stdout)
			}
		}
		found := map[string]doctor.Finding{}
		for _, f := range answer.Checks {
			found[f.Check] = f
		}
		return found
	}
	found := run("doctor --json", operate.ExitUnhealthy)
	for check, status := range map[string]doctor.Status{
		"database": doctor.OK, "migrations": doctor.OK, "durability": doctor.Fail, "invalid indexes": doctor.OK,
		"endpoint acme/mine": doctor.Fail, // in a private network, which is not allowed here
	} {
		if found[check].Status != status {
			t.Errorf("%s: %+v, want %s", check, found[check], status)
		}
	}
	if f := found["migrations"]; !strings.Contains(f.Detail, "with 1 tenants") {
		t.Errorf("migrations: %q", f.Detail)
	}
	s.env["RAGD_ALLOWED_PRIVATE_NETWORKS"] = "127.0.0.1"
	if f := run("doctor --json", operate.ExitUnhealthy)["endpoint acme/mine"]; f.Status != doctor.OK {
		t.Errorf("an endpoint in an allowed network: %+v", f)
	}
	s.env["RAGD_LIBREOFFICE"], s.env["RAGD_OPENAI_BASE_URL"] = "/nowhere/soffice", "http://127.0.0.1:1/v1"
	found = run("doctor --json", operate.ExitUnhealthy)
	for _, check := range []string{"libreoffice", "endpoint openai"} {
		if found[check].Status != doctor.Fail {
			t.Errorf("%s: %+v, want a failure", check, found[check])
		}
	}
	s.env["RAGD_DATABASE_URL"] = "postgres://ragd:top-secret@127.0.0.1:1/ragd"
	if f := run("doctor --json", operate.ExitUnhealthy)["database"]; f.Status != doctor.Fail || strings.Contains(f.Detail, "top-secret") {
		t.Errorf("a database that does not answer: %+v", f)
	}
	s.want(t, step{args: args("doctor --jsn"), code: operate.ExitNotDiagnosed, stderr: "...unknown flag"})
}

func TestDoctorFindsTheEmbeddedDatabase(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	h := newHome(t)
	service := h.serve()
	text, _ := h.command(t.Context(), "doctor").Output() // warnings about this machine are no matter
	for _, line := range []string{"ok +database ", "ok +migrations ", "ok +durability ", "ok +autovacuum ", "ok +file .*master.key", "(ok|warn|FAILED) +disk "} {
		if !regexp.MustCompile(`(?m)^` + line).Match(text) {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
	stop(t, service, syscall.SIGTERM)
	cmd := h.command(t.Context(), "doctor")
	text, _ = cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != operate.ExitUnhealthy || !strings.Contains(string(text), "does not run") {
		t.Errorf("without the service: exit code %d\n%s", code, text)
	}
}

// secretOf returns the secret of the session's key.
func secretOf(t *testing.T, s *session) string {
	t.Helper()
	clients, err := config.ReadClients(filepath.Join(s.env["XDG_CONFIG_HOME"], "ragd", "client.conf"))
	if err != nil || len(clients) != 1 || clients[0].APIKey == "" {
		t.Fatal(clients, err)
	}
	return clients[0].APIKey
}
