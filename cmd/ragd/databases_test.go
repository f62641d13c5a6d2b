package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
)

func TestDatabases(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	s := newSession(t, "RAGD_MASTER_KEY="+strings.Repeat("7", 64))
	dir := t.TempDir()
	file, archive := filepath.Join(dir, "east.url"), filepath.Join(dir, "beta.ragd")
	if err := os.WriteFile(file, []byte(address+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []step{
		{args: args("databases add east --file " + file), stdout: "...database     east\naddress"},
		{args: args("databases add east --file " + file), code: 1, stderr: "ragd: database \"east\" exists already: update it to change its URL\n"},
		{args: args("tenant create beta --database east"), stdout: "...database  east\n"},
		{args: args("tenant create beta --database west"), code: 1, stderr: "ragd: database \"west\" not found\n"},
		{args: args("export beta --output " + archive), stdout: anything, stderr: anything},
		{args: args("tenant delete beta --erase --yes"), stdout: anything},
		{args: args("import " + archive + " --database west"), code: 1, stderr: "ragd: database \"west\" not found\n"},
		{args: args("import " + archive + " --database east"), stdout: "...database  east\n"},
		{args: args("databases update east --file " + file + " --connections 5"), stdout: "...connections  5\n"},
		{args: args("databases remove east"), code: 1, stderr: "ragd: the database \"east\" has tenants, 1 of them: move or erase them first\n"},
	} {
		s.want(t, want)
	}
	for command, part := range map[string]string{"databases list": "east      ok", "doctor": "database east"} {
		if _, stdout, stderr := s.run(args(command)...); !strings.Contains(stdout, part) {
			t.Errorf("%s: %s%s", command, stdout, stderr)
		}
	}
	s.want(t, step{args: args("tenant delete beta --erase --yes"), stdout: anything})
	s.want(t, step{args: args("databases remove east"), stdout: "removed  east\n"})
}

// The commands that open the databases themselves reach registered ones with the master key, go on when one
// cannot be reached, and name it.
func TestCommandsOnAllDatabases(t *testing.T) {
	t.Parallel()
	first, east, west, key := pgtest.URL(t), pgtest.URL(t), pgtest.URL(t), strings.Repeat("7", 64)
	s := newSession(t, "RAGD_DATABASE_URL="+first, "RAGD_MASTER_KEY="+key)
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, url := range map[string]string{"east": east, "west": west} {
		s.want(t, step{args: args("databases add " + name + " --file " + write(name, url)), stdout: anything})
		s.want(t, step{args: args("tenant create in-" + name + " --database " + name), stdout: anything})
	}
	run := func(url, sql string, args ...any) (version int) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.WithoutCancel(t.Context()))
		if err := conn.QueryRow(t.Context(), sql, args...).Scan(&version); err != nil {
			t.Fatal(err)
		}
		return version
	}
	const forget = `UPDATE ragd.tenants SET schema_version = 1 WHERE tenant_id = $1 RETURNING schema_version`
	const recorded = `SELECT schema_version FROM ragd.tenants WHERE tenant_id = $1`
	newest := run(first, recorded, "acme")

	delete(s.env, "RAGD_SERVER")
	s.env["RAGD_DATABASE_URL"], s.env["RAGD_LOG_LEVEL"] = first, "error"
	allReached := func(how string) {
		t.Helper()
		run(east, forget, "in-east")
		s.want(t, step{args: args("migrate" + how), stdout: "3 of 3 tenants are up to date\n", stderr: anything})
		if v := run(east, recorded, "in-east"); v != newest {
			t.Errorf("after ragd migrate%s the version of a tenant is %d, want %d", how, v, newest)
		}
		s.want(t, step{args: args("migrate --status" + how), stdout: "...tenants: 3 of 3 at version"})
		s.want(t, step{args: args("tenant repair" + how), stdout: "all tenants can be served: nothing to repair\n"})
	}
	allReached(" --master-key-file " + write("master", key))
	s.env["RAGD_MASTER_KEY"] = key
	allReached("")
	if _, stdout, _ := s.run(args("doctor")...); !strings.Contains(stdout, "up to date, with 3 tenants") {
		t.Errorf("doctor: %s", stdout)
	}

	run(east, forget, "in-east")
	run(first, `UPDATE ragd.databases SET url = '\x00' WHERE database_name = 'west' RETURNING 1`)
	const left = "...database west: FAILED: the URL of the database \"west\" cannot be decrypted"
	s.want(t, step{args: args("tenant repair"), code: 1, stdout: left, stderr: "...ragd: 1 databases, with 1 tenants, could not be reached; run the command again\n"})
	s.want(t, step{args: args("migrate"), code: 1, stdout: left, stderr: "...ragd: 1 databases, with 1 tenants, could not be reached; run the command again\n"})
	if v := run(east, recorded, "in-east"); v != newest {
		t.Errorf("the database that can be reached was left out: version %d, want %d", v, newest)
	}
	if _, stdout, _ := s.run(args("doctor")...); !strings.Contains(stdout, "the database west was not looked at: the URL") {
		t.Errorf("doctor: %s", stdout)
	}
	s.env["RAGD_DATABASE_URL"], s.env["RAGD_MASTER_KEY"] = first, ""
	s.want(t, step{args: args("migrate"), code: 1, stdout: "...database east: FAILED: ", stderr: "...ragd: 2 databases, with 2 tenants, could not be reached; run the command again\n"})
	s.want(t, step{args: args("migrate --master-key " + key), code: 2, stderr: anything})
}
