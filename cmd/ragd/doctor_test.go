package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.want(t, step{args: args("doctor"), stdout: "...ok  tenant access  the key from client.conf is valid\nok  operator key   the key from client.conf is valid\n"})
	s.env["RAGD_API_KEY"] = "wrong"
	s.want(t, step{
		args: args("doctor"), code: 1, stderr: "ragd: 1 of 5 checks failed\n",
		stdout: "...FAILED  tenant access  a valid API key is needed: send it as Authorization: Bearer <secret>; the key came from RAGD_API_KEY\n",
	})
	s.env["RAGD_SERVER"] = "127.0.0.1:1"
	s.want(t, step{
		args: args("doctor --json"), code: 1, stderr: "ragd: 3 of 5 checks failed\n",
		stdout: "...no answer from http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused",
	})
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
