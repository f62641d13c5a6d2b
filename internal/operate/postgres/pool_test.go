package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
)

// connect returns a connection that is closed when the test ends.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// bareURL returns the URL of a database without the vector extension.
func bareURL(t *testing.T) string {
	t.Helper()
	url := pgtest.URL(t)
	exec(t, connect(t, url), `DROP EXTENSION vector; DROP SCHEMA extensions`)
	return url
}

func TestPoolKnowsVectorTypesAndRefusesUnqualifiedNames(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	ctx := t.Context()
	var got pgvector.HalfVector
	if err := pool.QueryRow(ctx, `SELECT $1::halfvec`, pgvector.NewHalfVector([]float32{1, 0.5})).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if want := "[1,0.5]"; got.String() != want {
		t.Errorf("halfvec = %s, want %s", got, want)
	}
	if _, err := pool.Exec(ctx, `CREATE TABLE public.note (id int)`); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `SELECT id FROM note`); postgres.Code(err) != postgres.CodeUndefinedTable {
		t.Errorf("an unqualified name gives %v, want an undefined table", err)
	}
}

func TestOpenUsesTheSchemaThatTheExtensionIsIn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, create, want string }{
		{"none yet", ``, "extensions"},
		{"public, the default of CREATE EXTENSION", `CREATE EXTENSION vector SCHEMA public`, "public"},
		{"a name that needs quotes", `CREATE SCHEMA "My ""Ext"""; CREATE EXTENSION vector SCHEMA "My ""Ext"""`, `My "Ext"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			url := bareURL(t)
			exec(t, connect(t, url), tc.create)
			pool, err := postgres.Open(t.Context(), postgres.Config{URL: url, ApplicationName: "a test"})
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			schema, err := postgres.VectorSchema(t.Context(), pool)
			if err != nil || schema != tc.want {
				t.Errorf("VectorSchema = %q, %v; want %q", schema, err, tc.want)
			}
			var path, name string
			if err := pool.QueryRow(t.Context(), `SELECT current_setting('search_path'), current_setting('application_name')`).Scan(&path, &name); err != nil {
				t.Fatal(err)
			}
			if want := (pgx.Identifier{tc.want}).Sanitize(); path != want || name != "a test" {
				t.Errorf("search_path %s of %q, want %s of a test", path, name, want)
			}
		})
	}
}

func TestReplicasMayStartOnAnEmptyDatabaseAtOnce(t *testing.T) {
	t.Parallel()
	url := bareURL(t)
	var g errgroup.Group
	for range 6 {
		g.Go(func() error {
			pool, err := postgres.Open(t.Context(), postgres.Config{URL: url})
			if err == nil {
				pool.Close()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

func TestOpenRefusesAnOldExtension(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	exec(t, connect(t, url), `UPDATE pg_extension SET extversion = '0.7.0' WHERE extname = 'vector'`)
	var log bytes.Buffer
	_, err := postgres.Open(t.Context(), postgres.Config{URL: url, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "pgvector 0.7.0 is too old") {
		t.Errorf("error %v, want that 0.7.0 is too old", err)
	}
	if !strings.Contains(log.String(), "could not be updated") {
		t.Errorf("log %q does not mention the failed update", log.String())
	}
}

func TestOpenExplainsHowToCreateTheExtension(t *testing.T) {
	t.Parallel()
	address := bareURL(t)
	admin := connect(t, address)
	role := fmt.Sprintf("ragd_test_%d", time.Now().UnixNano())
	exec(t, admin, fmt.Sprintf(`CREATE ROLE %s LOGIN PASSWORD 'hunter2'`, role))
	t.Cleanup(func() { _, _ = admin.Exec(context.Background(), `DROP ROLE `+role) })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "hunter2")
	q := u.Query()
	q.Del("user")
	u.RawQuery = q.Encode()

	_, err = postgres.Open(t.Context(), postgres.Config{URL: u.String()})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "CREATE EXTENSION vector SCHEMA extensions") {
		t.Errorf("error %v, want the statements that a superuser has to run", err)
	}
}

func TestOpenWhenTheServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), postgres.Config{URL: "postgres://ragd:hunter2@127.0.0.1:1/ragd"})
	if fault.KindOf(err) != fault.Unavailable || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v, want one of kind unavailable without the password", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = postgres.Open(ctx, postgres.Config{URL: "postgres://ragd@127.0.0.1:1/ragd"})
	if fault.KindOf(err) != fault.Canceled {
		t.Errorf("error %v, want that it was canceled", err)
	}
}
