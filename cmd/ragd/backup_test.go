package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// backupPage is the documentation whose commands the tests of this file run.
const backupPage = "../../docs/how-to/backup.md"

// documented returns the commands of backupPage that contain a text. Names of roles and the
// database are replaced by pairs of old and new.
func documented(t *testing.T, containing string, names ...string) string {
	t.Helper()
	page, err := os.ReadFile(backupPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(page), "```sh\n")[1:] {
		commands, _, _ := strings.Cut(block, "```")
		if strings.Contains(commands, containing) {
			return strings.NewReplacer(names...).Replace(commands)
		}
	}
	t.Fatalf("%s has no commands with %q", backupPage, containing)
	return ""
}

// shell runs commands with ragd on the path, in the folder and with the environment of h,
// and returns their output.
func (h *home) shell(commands string, env ...string) string {
	h.t.Helper()
	bin := filepath.Join(h.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		h.t.Fatal(err)
	}
	if link := filepath.Join(bin, "ragd"); os.Symlink(os.Args[0], link) != nil {
		if _, err := os.Stat(link); err != nil {
			h.t.Fatal(err)
		}
	}
	cmd := h.command(h.t.Context())
	cmd.Path, cmd.Args, cmd.Dir = "/bin/sh", []string{"sh", "-e", "-c", commands}, h.dir
	cmd.Env = append(append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH")), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}

// externalServer starts a PostgreSQL server without any role but those of a new one, and
// returns a function that gives the address of a database for a role.
func externalServer(t *testing.T) func(role, database string) string {
	t.Helper()
	if _, err := exec.LookPath("pg_restore"); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "ragd-server-")
	if err != nil {
		t.Fatal(err)
	}
	server, err := embedded.Start(t.Context(), embedded.Config{
		DataDir: dir, Logger: slog.New(slog.DiscardHandler), Settings: map[string]string{"fsync": "off", "shared_buffers": "64MB"},
	})
	if err != nil {
		_ = os.RemoveAll(dir)
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Stop(t.Context())
		_ = os.RemoveAll(dir)
	})
	return func(role, database string) string {
		address, err := url.Parse(server.AdminURL())
		if err != nil {
			t.Fatal(err)
		}
		query := address.Query()
		query.Set("user", role)
		address.Path, address.RawQuery = "/"+database, strings.ReplaceAll(query.Encode(), "+", "%20")
		return address.String()
	}
}

// superuser is the superuser of externalServer.
const superuser = "ragd"

const backupOperator = "operator-of-the-backup-test"

// use makes a database the one of the service.
func (h *home) use(address func(role, database string) string, admin, service, database string) {
	h.env = []string{"RAGD_OPERATOR_KEY=" + backupOperator, "RAGD_DATABASE_URL=" + address(service, database)}
	if admin != service {
		h.env = append(h.env, "RAGD_DATABASE_ADMIN_URL="+address(admin, database))
	}
}

// fillTenants creates the tenants acme and beta with documents, a graph, tools and keys, and
// returns their keys.
func (h *home) fillTenants() (keys map[string]string) {
	h.t.Helper()
	keys = map[string]string{}
	for _, name := range []string{"acme", "beta"} {
		h.ragd("tenant", "create", name)
		_, secret, _ := strings.Cut(h.ragd("key", "create", "--tenant", name), "secret")
		keys[name] = strings.Fields(secret)[0]
		corpus := filepath.Join(h.dir, name+".jsonl")
		text := fmt.Sprintf(`{"id": "rota", "title": "Rota", "text": "The rota of %s is kept in Ledger Nine."}
{"id": "ledger", "title": "Ledger Nine", "text": "Ledger Nine of %[1]s lies in the vault."}
`, name)
		if err := os.WriteFile(corpus, []byte(text), 0o600); err != nil {
			h.t.Fatal(err)
		}
		h.ragd("ingest", "--tenant", name, "--index", "docs", "--jsonl", corpus)
		h.ragd("tool", "create", "ask-"+name, "--tenant", name, "--index", "docs", "--description", "Asks.")
	}
	return keys
}

// answers returns what the tenants see of their data, with their own keys.
func (h *home) answers(keys map[string]string) map[string]string {
	h.t.Helper()
	found := map[string]string{}
	for name, key := range keys {
		for _, command := range []string{
			"query --index docs --json Where is the rota?", "graph --index docs --json Where is the rota?",
			"tool list --json", "document list --index docs --json", "job list --json", "index describe docs --json",
		} {
			words := strings.Fields(command)
			if words[0] == "query" || words[0] == "graph" {
				words = append(words[:4], strings.Join(words[4:], " "))
			}
			cmd := h.command(h.t.Context(), words...)
			cmd.Env = append(cmd.Env, "RAGD_OPERATOR_KEY=", "RAGD_API_KEY="+key) // empty is not set
			out, err := cmd.CombinedOutput()
			if err != nil {
				h.t.Fatalf("%s as %s: %v: %s", command, name, err, out)
			}
			found[name+": "+command] = withoutTimings(string(out))
		}
	}
	return found
}

// withoutTimings removes the lines of an answer that tell how long it took.
func withoutTimings(answer string) string {
	var kept []string
	for line := range strings.Lines(answer) {
		if !strings.Contains(line, "Ms\"") && !strings.Contains(line, "elapsed") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// page fetches a page of the service.
func (h *home) page(path string) (status int, body string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://"+h.listen+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// checkRestored fails the test unless the tenants see what they saw before, can write, and
// do not see each other.
func (h *home) checkRestored(keys, before map[string]string) {
	h.t.Helper()
	if diff := cmp.Diff(before, h.answers(keys)); diff != "" {
		h.t.Errorf("after the restore (-before +after): %s", diff)
	}
	if status, body := h.page("/readyz"); status != http.StatusOK || body != "ok\n" {
		h.t.Errorf("/readyz answers %d %s", status, body)
	}
	corpus := filepath.Join(h.dir, "more.jsonl")
	if err := os.WriteFile(corpus, []byte(`{"id": "more", "text": "Only acme knows the password swordfish."}`), 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.ragd("ingest", "--tenant", "acme", "--index", "docs", "--jsonl", corpus)
	h.ragd("index", "create", "later", "--tenant", "beta")
	for tenant, sees := range map[string]bool{"acme": true, "beta": false} {
		if out := h.ragd("query", "--tenant", tenant, "--index", "docs", "who knows the password swordfish"); strings.Contains(out, "swordfish") != sees {
			h.t.Errorf("%s sees of the new document of acme: %s", tenant, out)
		}
	}
}

func TestABackupIsRestored(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	old := externalServer(t)
	h := newHome(t)
	prepare := documented(t, "CREATE ROLE ragd_admin", "ragd_admin", "old_admin", "ragd_app", "old_app", "ragd_restored", "old_ragd")
	h.shell(prepare, "SUPERUSER_URL="+old(superuser, "postgres"), "ADMIN_PASSWORD=a", "APP_PASSWORD=b")
	h.use(old, "old_admin", "old_app", "old_ragd")
	service := h.serve()
	keys := h.fillTenants()
	before := h.answers(keys)
	h.shell(documented(t, "pg_dump --format=custom", "ragd.dump", "../ragd.dump"), "RAGD_DATABASE_ADMIN_URL="+old("old_admin", "old_ragd"))
	h.shell("cd .. && pg_dump --file=all.sql \"$ALL\"", "ALL="+old(superuser, "old_ragd"))
	stop(t, service, syscall.SIGTERM)
	dumps := filepath.Dir(h.dir)

	t.Run("as documented", func(t *testing.T) {
		t.Parallel()
		fresh, h := externalServer(t), newHome(t)
		h.shell(documented(t, "CREATE ROLE ragd_admin"), "SUPERUSER_URL="+fresh(superuser, "postgres"), "ADMIN_PASSWORD=a", "APP_PASSWORD=b")
		h.use(fresh, "ragd_admin", "ragd_app", "ragd_restored")
		h.shell(documented(t, "pg_restore --exit-on-error", "ragd.dump", dumps+"/ragd.dump"))
		out := h.shell(documented(t, "ragd migrate"))
		for _, want := range []string{"tenant acme: repaired: its database role is missing", "tenant beta: repaired", "2 of 2 tenants are up to date"} {
			if !strings.Contains(out, want) {
				t.Errorf("ragd migrate prints %s, want %q", out, want)
			}
		}
		h.serve()
		h.checkRestored(keys, before)
		if out := h.ragd("tenant", "repair"); !strings.Contains(out, "nothing to repair") {
			t.Errorf("a repair after the repair prints %s", out)
		}
	})
	t.Run("by psql as the superuser of the service", func(t *testing.T) {
		t.Parallel()
		fresh, h := externalServer(t), newHome(t)
		h.shell(`psql -c 'CREATE DATABASE other' "$POSTGRES"; psql --file "$DUMP" "$OTHER" >/dev/null 2>&1`,
			"POSTGRES="+fresh(superuser, "postgres"), "OTHER="+fresh(superuser, "other"), "DUMP="+dumps+"/all.sql")
		h.use(fresh, superuser, superuser, "other")
		h.serve()
		h.checkRestored(keys, before)
	})
	t.Run("by psql for other roles", func(t *testing.T) {
		t.Parallel()
		fresh, h := externalServer(t), newHome(t)
		h.shell(documented(t, "CREATE ROLE ragd_admin", "ragd_admin", "old_admin", "ragd_app", "old_app"),
			"SUPERUSER_URL="+fresh(superuser, "postgres"), "ADMIN_PASSWORD=a", "APP_PASSWORD=b")
		h.shell(`psql --file "$DUMP" "$RESTORED" >/dev/null 2>&1`, "RESTORED="+fresh(superuser, "ragd_restored"), "DUMP="+dumps+"/all.sql")
		h.use(fresh, "old_admin", "old_app", "ragd_restored")
		h.serveUnready()
		if status, body := h.page("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "none of the 2 tenants can be served: run `ragd tenant repair`") {
			t.Errorf("/readyz answers %d %s", status, body)
		}
		if answer := h.grpcHealth(); !strings.Contains(answer, "NOT_SERVING") {
			t.Errorf("the gRPC health service answers %s", answer)
		}
		out, err := h.command(t.Context(), "query", "--tenant", "acme", "--index", "docs", "rota").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the operator of the service must run `ragd tenant repair acme`") {
			t.Errorf("a query before the repair: %v: %s", err, out)
		}
		out, err = h.command(t.Context(), "tenant", "repair").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "with the URL of a superuser in RAGD_DATABASE_ADMIN_URL") {
			t.Errorf("a repair without rights: %v: %s", err, out)
		}
		h.shell("ragd tenant repair", "RAGD_DATABASE_ADMIN_URL="+fresh(superuser, "ragd_restored"))
		h.awaitReady()
		h.checkRestored(keys, before)
		if answer := h.grpcHealth(); strings.Contains(answer, "NOT_SERVING") {
			t.Errorf("the gRPC health service answers %s", answer)
		}
	})
}

// grpcHealth returns the answer of the gRPC health service.
func (h *home) grpcHealth() string {
	h.t.Helper()
	res, err := http.Post("http://"+h.listen+"/grpc.health.v1.Health/Check", "application/json", strings.NewReader("{}"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(answer)
}

func TestABackupOfTheEmbeddedDatabaseIsRestored(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	h := shortHome(t)
	service := h.serve()
	keys := h.fillTenants()
	before := h.answers(keys)
	data, dumps := h.dir+"/data/ragd", t.TempDir()
	h.shell(documented(t, "pg_dump --format=custom --schema=ragd --schema=ragd_shared --schema='tenant_*' --file=embedded.dump", "embedded.dump", dumps+"/embedded.dump"), "DATA_DIR="+data)
	stop(t, service, syscall.SIGTERM)
	h.shell(documented(t, `cp -a "$DATA_DIR"`), "DATA_DIR="+data, "BACKUP_DIR="+dumps+"/copy")

	t.Run("a copy at another path", func(t *testing.T) {
		t.Parallel()
		h := shortHome(t)
		h.shell("mkdir data && cp -a " + dumps + "/copy data/ragd")
		h.serve()
		h.checkRestored(keys, before)
	})
	t.Run("a dump", func(t *testing.T) {
		t.Parallel()
		h := shortHome(t)
		h.shell(documented(t, "ragd database", "embedded.dump", dumps+"/embedded.dump"), "NEW_DATA_DIR="+h.dir+"/data/ragd")
		h.serve()
		h.checkRestored(keys, before)
	})
}

// serveUnready starts the service and returns when it answers.
func (h *home) serveUnready() {
	h.t.Helper()
	cmd := h.command(context.Background(), "serve", "--log-level", "error")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if stop(h.t, cmd, syscall.SIGTERM); h.t.Failed() {
			h.t.Log(log.String())
		}
	})
	wait.For(h.t, "an answer of the service", func() bool {
		res, err := http.Get("http://" + h.listen + "/healthz")
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	})
}

// A service makes backups by itself and archives its log. After it was killed, the newest
// backup and the state of a moment between two writes are restored.
func TestTheServiceBacksUpItsDatabase(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	h := shortHome(t)
	folder, data := h.dir+"/backups", h.dir+"/data/ragd"
	h.env = append(h.env, "RAGD_BACKUP_FOLDER="+folder, "RAGD_BACKUP_WAL=true", "RAGD_BACKUP_KEEP=2")
	service := h.serve()
	keys := h.fillTenants()
	before := h.answers(keys)
	h.shell(`printf hidden | ragd secret set token --tenant acme --host api.example.com`)
	between := time.Now().UTC().Format(time.RFC3339Nano)
	h.ragd("index", "create", "second", "--tenant", "acme")
	first := awaitBackup(t, folder)
	out := h.ragd("backup", folder, "--json") // waits until the log of the backup is archived
	if !strings.Contains(out, `"path": "`+folder+"/") {
		t.Errorf("ragd backup prints %s", out)
	}
	if out, _ := h.command(t.Context(), "doctor").Output(); !strings.Contains(string(out), " 2 in "+folder) || !strings.Contains(string(out), "takes the log") {
		t.Errorf("ragd doctor prints %s", out) // its other findings are no matter
	}
	h.ragd("index", "create", "third", "--tenant", "acme")
	stop(t, service, syscall.SIGKILL)

	restored := func(t *testing.T, args ...string) *home {
		h := shortHome(t)
		target := h.dir + "/data/ragd"
		out, err := h.command(t.Context(), append([]string{"restore", "--data-dir", target}, args...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "is restored from "+folder) || !strings.Contains(string(out), "put the "+target+"/master.key of the old data directory there") {
			t.Fatalf("ragd restore: %v: %s", err, out)
		}
		if out, err := h.command(t.Context(), "serve").CombinedOutput(); err == nil || !strings.Contains(string(out), target+"/master.key does not exist, but the database has secrets that its key encrypted") {
			t.Errorf("a start without the key: %v: %s", err, out)
		}
		h.shell("cp " + data + "/master.key " + target)
		h.serve()
		return h
	}
	t.Run("the newest backup", func(t *testing.T) {
		t.Parallel()
		h := restored(t, folder)
		if out := h.ragd("index", "list", "--tenant", "acme"); !strings.Contains(out, "second") || strings.Contains(out, "third") {
			t.Errorf("the restored indexes are %s, want all until the backup", out)
		}
	})
	t.Run("a moment between two writes", func(t *testing.T) {
		t.Parallel()
		h := restored(t, folder, "--to", between)
		if out := h.ragd("index", "list", "--tenant", "acme"); strings.Contains(out, "second") {
			t.Errorf("the restored indexes are %s, want those of %s", out, between)
		}
		h.checkRestored(keys, before)
	})
	t.Run("a cut backup", func(t *testing.T) {
		t.Parallel()
		h := shortHome(t)
		h.shell("cp -a " + first + " cut && : > cut/cluster/global/pg_control")
		out, err := h.command(t.Context(), "restore", h.dir+"/cut", "--data-dir", h.dir+"/data/ragd").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the backup is damaged") || !strings.Contains(string(out), "global/pg_control") {
			t.Errorf("ragd restore of a cut backup: %v: %s", err, out)
		}
	})
	t.Run("over a database", func(t *testing.T) {
		t.Parallel()
		out, err := h.command(t.Context(), "restore", folder).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "has a database, which is not overwritten") {
			t.Errorf("ragd restore over a database: %v: %s", err, out)
		}
	})
}

// awaitBackup waits for the first backup of a folder and returns its path.
func awaitBackup(t *testing.T, folder string) string {
	t.Helper()
	var all []embedded.Backup
	wait.For(t, "a backup", func() bool {
		var err error
		all, err = embedded.Backups(folder)
		return err == nil && len(all) > 0
	})
	return all[0].Path
}

func TestAStoppedDatabaseIsBackedUp(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	h := shortHome(t)
	service := h.serve()
	h.ragd("index", "create", "kept")
	stop(t, service, syscall.SIGTERM)
	h.ragd("backup", h.dir+"/backups")
	h.shell("mv data/ragd old && ragd restore backups && cp old/master.key data/ragd")
	h.serve()
	if out := h.ragd("index", "list"); !strings.Contains(out, "kept") {
		t.Errorf("the restored indexes are %s", out)
	}
}

func TestSettingsOfBackupsAndShutdownThatAreRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, tc := range []struct {
		env  string
		args []string
		want string
	}{
		{"", []string{"backup", h.dir + "/backups"}, "there is no database in " + h.dir + "/data/ragd"},
		{"", []string{"backup"}, "FOLDER is missing"},
		{"RAGD_DATABASE_URL=postgres://db/ragd", []string{"backup", h.dir}, "database-url is set: back up an external database with the tools of PostgreSQL"},
		{"", []string{"restore", h.dir + "/nothing"}, h.dir + "/nothing has no whole backup"},
		{"", []string{"restore", h.dir, "--to", "yesterday"}, "to must be a time such as"},
		{"RAGD_BACKUP_INTERVAL=5s", []string{"serve"}, "backup-interval: must be at least 1m0s, not 5s"},
		{"RAGD_BACKUP_KEEP=-1", []string{"serve"}, "RAGD_BACKUP_KEEP: want a whole number, 0 or more"},
		{"RAGD_DRAIN_DELAY=-1s", []string{"serve"}, "drain-delay: must not be negative, got -1s"},
		{"RAGD_BACKUP_WAL=true", []string{"serve"}, "backup-wal: needs backup-folder"},
	} {
		cmd := h.command(t.Context(), tc.args...)
		cmd.Env = append(cmd.Env, tc.env)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), tc.want) {
			t.Errorf("%s ragd %s: %v: %s, want that %s", tc.env, strings.Join(tc.args, " "), err, out, tc.want)
		}
	}
}

// An external database is restored to a moment between two writes with the tools of PostgreSQL, as
// documented.
func TestAnExternalDatabaseIsRestoredToAMoment(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	install, err := embedded.Default()
	if err != nil {
		t.Fatal(err)
	}
	programs := "PATH=" + install.BinDir + ":" + os.Getenv("PATH")
	dir, err := os.MkdirTemp("", "ragd-server-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	archive := filepath.Join(dir, "archive")
	if err := errors.Join(os.Mkdir(archive, 0o755), os.Chmod(dir, 0o755), os.Chmod(archive, 0o777)); err != nil {
		t.Fatal(err)
	}
	server := serverIn(t, filepath.Join(dir, "first"))
	h := newHome(t)
	h.shell(documented(t, "SET archive_command"), "SUPERUSER_URL="+server.AdminURL(), "WAL_ARCHIVE="+archive)
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	server = serverIn(t, filepath.Join(dir, "first")) // a restart
	h.env = []string{"RAGD_OPERATOR_KEY=" + backupOperator, "RAGD_DATABASE_URL=" + server.AdminURL()}
	service := h.serve()
	h.shell(documented(t, "pg_basebackup"), programs, "SUPERUSER_URL="+server.AdminURL(), "BASE_BACKUP="+dir+"/base")
	keys := h.fillTenants()
	before := h.answers(keys)
	between := time.Now().UTC().Format("2006-01-02 15:04:05.999999+00")
	h.ragd("index", "create", "second", "--tenant", "acme")
	stop(t, service, syscall.SIGTERM)
	if err := server.Stop(t.Context()); err != nil { // archives the last segment
		t.Fatal(err)
	}

	restored := filepath.Join(dir, "second", "cluster")
	if err := os.Mkdir(filepath.Dir(restored), 0o755); err != nil {
		t.Fatal(err)
	}
	h = newHome(t)
	h.shell(documented(t, "recovery_target_time"), "BASE_BACKUP="+dir+"/base", "RESTORED="+restored, "WAL_ARCHIVE="+archive, "TIME="+between)
	server = serverIn(t, filepath.Dir(restored))
	h.shell(`until [ "$(psql -Atc 'SELECT pg_is_in_recovery()' "$RESTORED")" = f ]; do sleep 0.1; done`, "RESTORED="+server.AdminURL())
	h.env = []string{"RAGD_OPERATOR_KEY=" + backupOperator, "RAGD_DATABASE_URL=" + server.AdminURL()}
	h.serve()
	if out := h.ragd("index", "list", "--tenant", "acme"); strings.Contains(out, "second") {
		t.Errorf("the restored indexes are %s, want those of %s", out, between)
	}
	h.checkRestored(keys, before)
}

// serverIn starts a PostgreSQL server in a folder, until the test ends or it is stopped.
func serverIn(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	return server
}
