package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("doctor"), stdout: "...ok  tenant access  the key from client.conf is valid for tenant acme, with the scopes read, write, admin\nok  operator key   the key from client.conf is valid\n"})
	s.env["RAGD_API_KEY"] = "wrong"
	s.want(t, step{
		args: args("doctor"), code: 1, stderr: "ragd: 1 of 5 checks failed\n",
		stdout: "...FAILED  tenant access  URL refused the key from RAGD_API_KEY: it is wrong, was revoked, has expired, or belongs to another service; `ragd key create` makes a key, RAGD_API_KEY sets it\n",
	})
	other := config.Client{DataDir: "/other", Server: "http://127.0.0.1:2", APIKey: "ragd_theirs"}
	path := filepath.Join(s.env["XDG_CONFIG_HOME"], "ragd", "client.conf")
	if err := other.Write(path); err != nil {
		t.Fatal(err)
	}
	s.env["RAGD_API_KEY"], s.env["RAGD_SERVER"] = "ragd_theirs", s.url
	s.want(t, step{
		args: args("doctor"), code: 1, stderr: "ragd: 1 of 5 checks failed\n",
		stdout: "...URL refused the key from RAGD_API_KEY: it is a key of http://127.0.0.1:2 (data directory /other), not of URL; `ragd key create`",
	})
	s.env["RAGD_SERVER"] = "127.0.0.1:1"
	s.want(t, step{
		args: args("doctor --json"), code: 1, stderr: "ragd: 3 of 5 checks failed\n",
		stdout: "...no answer from http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused",
	})
	delete(s.env, "RAGD_API_KEY")
	s.want(t, step{
		args: args("doctor"), code: 1, stderr: "ragd: 3 of 5 checks failed\n",
		stdout: "...FAILED  tenant access  there is no key: set RAGD_API_KEY, or run on the machine of the service as the user who runs it; client.conf has keys of URL (data directory /data), http://127.0.0.1:2 (data directory /other) only\n",
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
	s.want(t, step{args: args("doctor --fix"), code: 1, stderr: "ragd: no package manager here\n"})
}

func TestDoctorWithTheOperatorsKeyAlone(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.env = map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "RAGD_SERVER": s.url, "RAGD_OPERATOR_KEY": operatorSecret}
	s.want(t, step{args: args("doctor"), stdout: "...ok  tenant access  the operator's key belongs to no tenant; --tenant names one to check\n"})
}
