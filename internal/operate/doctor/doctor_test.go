package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/service/testing/certtest"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// open returns a connection to a new database.
func open(t *testing.T) (conn *pgx.Conn, url string) {
	t.Helper()
	url = pgtest.URL(t)
	conn, err := postgres.Connect(t.Context(), postgres.Config{URL: url, ApplicationName: "ragd doctor"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn, url
}

func exec(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// of returns the finding of a check.
func of(t *testing.T, findings []Finding, check string) Finding {
	t.Helper()
	for _, f := range findings {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("no finding %q in %v", check, findings)
	return Finding{}
}

// want fails the test unless the finding has the status and its detail the text.
func want(t *testing.T, f Finding, status Status, text string) {
	t.Helper()
	if f.Status != status || !strings.Contains(f.Detail, text) {
		t.Errorf("%s: %s %q, want %s with %q", f.Check, f.Status, f.Detail, status, text)
	}
	if (f.Action == "") != (status == OK) {
		t.Errorf("%s: %s has the action %q", f.Check, f.Status, f.Action)
	}
}

func TestAnEmptyDatabaseHasOnlyTheFindingsOfItsServer(t *testing.T) {
	t.Parallel()
	conn, _ := open(t)
	var unsafe, unattended bool
	err := conn.QueryRow(t.Context(), `SELECT current_setting('fsync') = 'off', current_setting('autovacuum') = 'off'`).Scan(&unsafe, &unattended)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Database(t.Context(), conn, Config{}) {
		switch {
		case f.Check == "durability" && unsafe:
			want(t, f, Fail, "fsync")
		case f.Check == "autovacuum" && unattended:
			want(t, f, Fail, "autovacuum is off")
		case strings.HasSuffix(f.Check, "version"), f.Check == "replication slots", f.Check == "connections":
			if strings.Contains(f.Detail, "could not be made") {
				t.Errorf("%s: %s", f.Check, f.Detail)
			}
		default:
			want(t, f, OK, "")
		}
	}
}

// flushed makes the statistics of what the connection did visible.
const flushed = `SELECT pg_stat_force_next_flush()`

func TestTables(t *testing.T) {
	t.Parallel()
	conn, _ := open(t)
	exec(t, conn,
		`CREATE TABLE public.worn AS SELECT g AS n, 'top secret' AS text FROM generate_series(1, 200000) AS g`,
		`DELETE FROM public.worn WHERE n <= 80000`,
		`CREATE TABLE public.large AS SELECT g AS n FROM generate_series(1, 400000) AS g`,
		`CREATE INDEX idle ON public.large (n) WITH (fillfactor = 10)`,
		`VACUUM ANALYZE public.large`,
		`DO $$ BEGIN FOR i IN 1..1000 LOOP PERFORM n FROM public.large LIMIT 1; END LOOP; END $$`,
		`INSERT INTO public.large VALUES (1)`, flushed)
	if _, err := conn.Exec(t.Context(), `CREATE UNIQUE INDEX CONCURRENTLY broken ON public.large (n)`); err == nil {
		t.Fatal("a unique index on equal rows was built")
	}
	found := Database(t.Context(), conn, Config{})
	want(t, of(t, found, "invalid indexes"), Fail, "public.broken")
	want(t, of(t, found, "bloat"), Warn, "by the server's estimate: public.worn (40%)")
	want(t, of(t, found, "statistics of tables"), Warn, "public.worn (120000 rows)")
	want(t, of(t, found, "unused indexes"), Warn, "public.idle")
	want(t, of(t, found, "sequential scans"), Warn, "public.large (1")
	if text := fmt.Sprint(found); strings.Contains(text, "top secret") {
		t.Errorf("the findings show rows: %s", text)
	}

	exec(t, conn, `DROP INDEX public.broken, public.idle`, `VACUUM (ANALYZE) public.worn`, flushed)
	found = Database(t.Context(), conn, Config{})
	for _, check := range []string{"invalid indexes", "bloat", "statistics of tables", "unused indexes"} {
		want(t, of(t, found, check), OK, "")
	}
}

func TestBloatIsMeasuredWherePgstattupleIs(t *testing.T) {
	t.Parallel()
	conn, _ := open(t)
	var available bool
	if err := conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pgstattuple')`).Scan(&available); err != nil {
		t.Fatal(err)
	}
	if !available {
		t.Skip("the server has no pgstattuple")
	}
	exec(t, conn, `CREATE SCHEMA "odd ""name"`, `CREATE EXTENSION pgstattuple SCHEMA "odd ""name"`,
		`CREATE TABLE public.worn AS SELECT g AS n FROM generate_series(1, 40000) AS g`)
	want(t, of(t, Database(t.Context(), conn, Config{}), "bloat"), OK, "by pgstattuple")
	exec(t, conn, `DELETE FROM public.worn WHERE n <= 25000`)
	want(t, of(t, Database(t.Context(), conn, Config{}), "bloat"), Warn, "dead rows, by pgstattuple: public.worn")
}

func TestActivity(t *testing.T) {
	t.Parallel()
	conn, url := open(t)
	other, err := postgres.Connect(t.Context(), postgres.Config{URL: url, ApplicationName: "forgotten"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.WithoutCancel(t.Context()))
	exec(t, other, `BEGIN`, `SELECT 'top secret'`)
	found := Database(t.Context(), conn, Config{
		LongTransaction: 1, // nanosecond
		Connections:     math.MaxInt32,
		Now:             func() time.Time { return time.Now().Add(90*time.Minute + 30*time.Second) },
	})
	want(t, of(t, found, "long transactions"), Warn, "of forgotten, idle in transaction")
	want(t, of(t, found, "connections"), Warn, "may open 2147483647 connections")
	want(t, of(t, found, "clock"), Warn, "differ by 1h30m")
	if text := fmt.Sprint(found); strings.Contains(text, "top secret") {
		t.Errorf("the findings show statements: %s", text)
	}
	want(t, of(t, Database(t.Context(), conn, Config{}), "long transactions"), OK, "")
}

// The server of the other tests keeps no log for replicas.
func TestAnUnusedReplicationSlotIsFound(t *testing.T) {
	t.Parallel()
	pgtest.URL(t) // skips the test where there is no PostgreSQL
	if len(embedded.Find()) == 0 {
		t.Skip("no PostgreSQL is installed")
	}
	dir, err := os.MkdirTemp("", "ragd-doctor-") // which the user of the server can reach
	if err != nil {
		t.Fatal(err)
	}
	server, err := embedded.Start(t.Context(), embedded.Config{
		DataDir: dir, Logger: slog.New(slog.DiscardHandler), Settings: map[string]string{"fsync": "off", "shared_buffers": "64MB", "wal_level": "replica"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Stop(context.WithoutCancel(t.Context())), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	if _, exists, err := embedded.Running(filepath.Join(dir, "missing")); err != nil || exists {
		t.Errorf("a folder without a cluster: exists %v, %v", exists, err)
	}
	url, exists, err := embedded.Running(dir)
	if err != nil || !exists || url != server.AdminURL() {
		t.Fatalf("the running server is at %q (exists %v, %v), want %q", url, exists, err, server.AdminURL())
	}
	conn, err := postgres.Connect(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	want(t, of(t, Database(t.Context(), conn, Config{}), "replication slots"), OK, "")
	exec(t, conn, `SELECT pg_create_physical_replication_slot('forgotten', true)`)
	want(t, of(t, Database(t.Context(), conn, Config{}), "replication slots"), Warn, "forgotten, unused")
}

func TestAnArchiveThatDoesNotTakeTheLogIsFound(t *testing.T) {
	t.Parallel()
	pgtest.URL(t) // skips the test where there is no PostgreSQL
	if len(embedded.Find()) == 0 {
		t.Skip("no PostgreSQL is installed")
	}
	dir, err := os.MkdirTemp("", "ragd-doctor-") // which the user of the server can reach
	if err != nil {
		t.Fatal(err)
	}
	server, err := embedded.Start(t.Context(), embedded.Config{
		DataDir: dir, Logger: slog.New(slog.DiscardHandler), Settings: map[string]string{"archive_mode": "on", "archive_command": "false", "shared_buffers": "64MB"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Stop(context.WithoutCancel(t.Context())), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	conn, err := postgres.Connect(t.Context(), postgres.Config{URL: server.AdminURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	await := func(condition string) {
		t.Helper()
		exec(t, conn, `SELECT pg_switch_wal()`)
		wait.For(t, condition, func() (met bool) {
			if err := conn.QueryRow(t.Context(), `SELECT `+condition+` FROM pg_stat_archiver`).Scan(&met); err != nil {
				t.Fatalf("%s is not met: %v", condition, err)
			}
			return met
		})
	}
	await("failed_count > 0")
	want(t, of(t, Database(t.Context(), conn, Config{}), "log archive"), Fail, "the archive did not take 0000000100000000")
	exec(t, conn, `ALTER SYSTEM SET archive_command = 'true'`, `SELECT pg_reload_conf()`, `CREATE TABLE written ()`)
	await("last_archived_time > last_failed_time")
	want(t, of(t, Database(t.Context(), conn, Config{}), "log archive"), OK, "takes the log")
}

// A role without rights gets findings about what it cannot see, and no error.
func TestARoleWithoutRights(t *testing.T) {
	t.Parallel()
	conn, _ := open(t)
	role := fmt.Sprintf("doctor_%d_%d", os.Getpid(), time.Now().UnixNano())
	exec(t, conn, `CREATE ROLE `+role)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, err := conn.Exec(ctx, `RESET ROLE`)
		if err == nil {
			_, err = conn.Exec(ctx, `DROP ROLE `+role)
		}
		if err != nil {
			t.Error(err)
		}
	})
	exec(t, conn, `SET ROLE `+role)
	for _, f := range Database(t.Context(), conn, Config{}) {
		if strings.Contains(f.Detail, "could not be made") && f.Status != Warn {
			t.Errorf("%+v", f)
		}
	}
	if endpoints, err := TenantEndpoints(t.Context(), conn); err != nil || len(endpoints) > 0 {
		t.Errorf("endpoints of a database without a schema: %v, %v", endpoints, err)
	}
}

func TestVersionsWithKnownBugs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		major, minor int
		want         Status
	}{{14, 23, Fail}, {15, 17, Warn}, {15, 18, OK}, {16, 13, Warn}, {17, 10, OK}, {18, 3, Warn}, {18, 4, OK}, {19, 0, OK}} {
		if got := judgeServer(tc.major, tc.minor); got.Status != tc.want {
			t.Errorf("PostgreSQL %d.%d: %+v, want %s", tc.major, tc.minor, got, tc.want)
		}
	}
	for _, tc := range []struct {
		created, library string
		ivf              bool
		want             Status
		text             string
	}{
		{"0.7.4", "0.7.4", false, Fail, "oldest"},
		{"0.8.0", "0.8.0", false, Warn, "CVE-2026-3172"},
		{"0.8.1", "0.8.2", false, Warn, "corrupt"},
		{"0.8.2", "0.8.2", false, Warn, "corrupt"},
		{"0.8.3", "0.8.3", false, Warn, "may fail"},
		{"0.8.4", "0.8.4", false, OK, "0.8.4"},
		{"0.8.6", "0.8.6", true, Warn, "IVFFlat"},
		{"0.8.7", "0.8.7", true, OK, "0.8.7"},
		{"0.8.6", "0.8.7", true, Warn, "the server 0.8.7"},
		{"0.10.0", "0.10.0", true, OK, ""},
	} {
		want(t, judgeVector(tc.created, tc.library, tc.ivf), tc.want, tc.text)
	}
	if f := judgeVector("0.8.1", "0.8.1", true); !strings.Contains(f.Action, "0.8.7 or newer") || !strings.Contains(f.Action, "REINDEX") {
		t.Errorf("the action for 0.8.1 is %q", f.Action)
	}
}

func TestSettingsAgainstSizes(t *testing.T) {
	t.Parallel()
	want(t, judgeMemory(4*gib, 2*gib, 2*gib, 8*gib, 3*gib), OK, "")
	want(t, judgeMemory(128*mib, 2*gib, 2*gib, 200*mib, 0), Warn, "shared_buffers is 128 MB, the database has 200 MB")
	want(t, judgeMemory(1*gib, 2*gib, 2*gib, 11*gib, 0), Warn, "shared_buffers")
	want(t, judgeMemory(1*gib, 64*mib, 2*gib, 2*gib, 300*mib), Warn, "maintenance_work_mem is 64 MB")
	want(t, judgeMemory(1*gib, 64*mib, 256*mib, 2*gib, 0), Warn, "max_wal_size is 256 MB")
	want(t, judgeConnections(97, 90, 40), Warn, "90 of 97")
	want(t, judgeConnections(97, 50, 40), OK, "")
	want(t, judgeAge(200_000_000), OK, "")
	want(t, judgeAge(1_200_000_000), Warn, "keep up")
	want(t, judgeAge(1_950_000_000), Fail, "no more writes")
}

func TestWorst(t *testing.T) {
	t.Parallel()
	ok, warn, fail := Finding{Status: OK}, Finding{Status: Warn}, Finding{Status: Fail}
	for _, tc := range []struct {
		findings []Finding
		want     Status
	}{{nil, OK}, {[]Finding{ok}, OK}, {[]Finding{warn, ok}, Warn}, {[]Finding{ok, fail, warn}, Fail}, {[]Finding{warn, fail}, Fail}} {
		if got := Worst(tc.findings); got != tc.want {
			t.Errorf("Worst(%v) = %s, want %s", tc.findings, got, tc.want)
		}
	}
}

func TestDisk(t *testing.T) {
	t.Parallel()
	want(t, Disk(t.TempDir(), 1), OK, "are free")
	want(t, Disk(t.TempDir(), math.MaxInt64/4), Fail, "writes are refused")
	want(t, Disk(filepath.Join(t.TempDir(), "missing"), 1), Warn, "missing")
}

func TestModesOfFilesWithSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	if found := SecretFile(path); found != nil {
		t.Errorf("a file that does not exist: %v", found)
	}
	if err := os.WriteFile(path, []byte("top secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, status := range map[os.FileMode]Status{0o600: OK, 0o640: OK, 0o660: Warn, 0o644: Fail, 0o602: Fail} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		want(t, SecretFile(path)[0], status, fmt.Sprintf("%04o", mode))
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	trusting, strict := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, &tls.Config{MinVersion: tls.VersionTLS12}
	end := secure.Certificate().NotAfter
	for _, tc := range []struct {
		url    string
		now    time.Time
		config *tls.Config
		want   Status
		text   string
	}{
		{secure.URL, end.Add(-30 * 24 * time.Hour), trusting, OK, "ends " + end.UTC().Format(time.DateOnly)},
		{secure.URL, end.Add(-20 * 24 * time.Hour), trusting, Warn, "ends"},
		{secure.URL, end, strict, Fail, "certificate"},
		{plain.URL, end, strict, OK, "without encryption"},
		{strings.Replace(plain.URL, "http:", "https:", 1), end, strict, Fail, "TLS"},
		{closed.URL, end, strict, Fail, "connection refused"},
		{"://", end, strict, Fail, "not a URL"},
	} {
		f := Address(t.Context(), "one", tc.url+"/v1?key=top-secret", (&net.Dialer{}).DialContext, tc.now, tc.config)
		want(t, f, tc.want, tc.text)
		if strings.Contains(fmt.Sprint(f), "secret") {
			t.Errorf("the finding shows the key in the address: %+v", f)
		}
	}
}

// The certificate of the service is read from its files.
func TestTheCertificateOfTheServiceIsChecked(t *testing.T) {
	t.Parallel()
	authority, end := certtest.New(t), time.Now().Add(12*time.Hour)
	_, cert, key := authority.Write(t, t.TempDir(), authority.Issue(t, "ragd.example.com", end))
	files := httpserver.CertificateFiles{Cert: cert, Key: key}
	want(t, Certificate(files, end.Add(-30*24*time.Hour)), OK, "ragd.example.com")
	want(t, Certificate(files, end.Add(-24*time.Hour)), Warn, "ends "+end.UTC().Format(time.DateOnly))
	want(t, Certificate(files, end.Add(time.Hour)), Fail, "ends")
	want(t, Certificate(httpserver.CertificateFiles{Cert: cert, Key: cert}, end), Fail, "tls-key")
	want(t, Certificate(httpserver.CertificateFiles{Cert: cert}, end), Fail, "tls-key")
}
