package pgtest

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
)

// CheckSchema compares the definition of a schema with the golden file
// testdata/schema/postgres-<major version of the server>/<name>.sql. A tenant's schema is
// called tenant there. tables are patterns of pg_dump; without them all of the schema is
// compared. If update is true the file is written instead. The test is skipped if the
// server's major version has no golden file or no installed pg_dump.
func CheckSchema(t *testing.T, pool *pgxpool.Pool, schema, name string, update bool, tables ...string) {
	t.Helper()
	version := serverMajor(t, pool)
	file := filepath.Join("testdata", "schema", "postgres-"+strconv.Itoa(version), name+".sql")
	want, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) && !update {
		t.Skipf("%s does not exist: run the test with -update on PostgreSQL %d to write it", file, version)
	}
	if err != nil && !update {
		t.Fatal(err)
	}
	got := rename(dump(t, pool, schema, tables, version), schema)
	if update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the schema differs from %s (-want +got); if the change is intended, run the test with -update:\n%s", file, diff)
	}
}

// Dump returns SQL that makes schemas of a database, with their rows, in a database that has
// the extension of vectors. It contains no owners and no privileges. The test is skipped if
// no pg_dump of the server's major version is installed.
func Dump(t *testing.T, pool *pgxpool.Pool, schemas ...string) string {
	t.Helper()
	args := []string{"--inserts", "--rows-per-insert=100"}
	for _, schema := range schemas {
		args = append(args, "--schema="+pgx.Identifier{schema}.Sanitize())
	}
	var kept []string
	for line := range strings.Lines(pgDump(t, pool, serverMajor(t, pool), args...)) {
		// Commands of psql, and a setting that older servers do not know.
		if !strings.HasPrefix(line, `\`) && !strings.HasPrefix(line, "SET transaction_timeout") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func serverMajor(t *testing.T, pool *pgxpool.Pool) (major int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), `SELECT current_setting('server_version_num')::int / 10000`).Scan(&major); err != nil {
		t.Fatal(err)
	}
	return major
}

// dump returns pg_dump's definition of a schema, without owners, privileges and lines that
// differ between minor versions or runs.
func dump(t *testing.T, pool *pgxpool.Pool, schema string, tables []string, version int) string {
	t.Helper()
	args := []string{"--schema-only"}
	quoted := pgx.Identifier{schema}.Sanitize()
	if len(tables) == 0 {
		args = append(args, "--schema="+quoted)
	}
	for _, table := range tables {
		args = append(args, "--table="+quoted+"."+table)
	}
	out := pgDump(t, pool, version, args...)
	lines := strings.Split(out, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, `\`) && !sessionSetting.MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.Trim(blankLines.ReplaceAllString(strings.Join(kept, "\n"), "\n\n"), "\n") + "\n"
}

// pgDump runs the pg_dump of a major version, without owners and privileges.
func pgDump(t *testing.T, pool *pgxpool.Pool, version int, args ...string) string {
	t.Helper()
	program := ""
	for _, install := range embedded.Find() {
		if install.Major == version {
			program = cmp.Or(program, filepath.Join(install.BinDir, "pg_dump"))
		}
	}
	if _, err := os.Stat(program); err != nil {
		t.Skipf("no pg_dump of PostgreSQL %d is installed: %v", version, err)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"--no-owner", "--no-privileges", "--dbname=" + pool.Config().ConnString()}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return string(out)
}

var (
	sessionSetting = regexp.MustCompile(`^(SET \w+ = .*|SELECT pg_catalog\.set_config\(.*\));$`)
	blankLines     = regexp.MustCompile(`\n{3,}`)
)

// rename replaces the name of a tenant's schema, quoted or not, in a dump.
func rename(dump, schema string) string {
	if !strings.HasPrefix(schema, "tenant_") {
		return dump
	}
	return strings.NewReplacer(pgx.Identifier{schema}.Sanitize(), "tenant", schema, "tenant").Replace(dump)
}
