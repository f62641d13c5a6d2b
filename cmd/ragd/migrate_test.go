package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The status of an external database, before the first migration, after it, and with a
// tenant that another tool left dirty.
func TestMigrateTellsTheVersionsOfTheDatabase(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	address := externalServer(t)
	h := newHome(t)
	h.shell(documented(t, "CREATE ROLE ragd_admin"), "SUPERUSER_URL="+address(superuser, "postgres"), "ADMIN_PASSWORD=a", "APP_PASSWORD=b")
	h.use(address, "ragd_admin", "ragd_app", "ragd_restored")
	status := func(args ...string) (out string, code int) {
		t.Helper()
		cmd := h.command(t.Context(), append([]string{"migrate", "--status"}, args...)...)
		text, _ := cmd.Output() // the exit code is the error
		return string(text), cmd.ProcessState.ExitCode()
	}

	if out, code := status(); code != 1 || !strings.Contains(out, "schema ragd: version 0 of ") || strings.Contains(out, "tenant") {
		t.Errorf("before the first migration: exit %d, %s", code, out)
	}
	if out := h.ragd("migrate", "--parallel", "2"); !strings.Contains(out, "0 of 0 tenants are up to date") {
		t.Errorf("ragd migrate prints %s", out)
	}
	h.serve()
	h.ragd("tenant", "create", "acme")
	h.ragd("tenant", "create", "beta")
	if out, code := status(); code != 0 || !strings.Contains(out, "tenants: 2 of 2 at version") {
		t.Errorf("after it: exit %d, %s", code, out)
	}

	conn, err := pgx.Connect(t.Context(), address(superuser, "ragd_restored"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `UPDATE tenant_beta.schema_migrations SET dirty = true`); err != nil {
		t.Fatal(err)
	}
	if out, code := status(); code != 1 || !strings.Contains(out, "tenant beta: at version") || !strings.Contains(out, "marked dirty") {
		t.Errorf("with a dirty tenant: exit %d, %s", code, out)
	}
	out, code := status("--json")
	var answer struct {
		UpToDate bool
		Tenants  int
		Failed   []struct {
			Tenant string
			Dirty  bool
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err, out)
	}
	if code != 1 || answer.UpToDate || answer.Tenants != 2 || len(answer.Failed) != 1 || answer.Failed[0].Tenant != "beta" || !answer.Failed[0].Dirty {
		t.Errorf("exit %d, %s", code, out)
	}
}
