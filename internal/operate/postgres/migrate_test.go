package postgres_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// files maps "1.up" to the file 000001_step.up.sql.
func files(bodies map[string]string) fs.FS {
	fsys := fstest.MapFS{"README.md": {Data: []byte("not a migration")}}
	for name, sql := range bodies {
		number, direction, _ := strings.Cut(name, ".")
		fsys[fmt.Sprintf("%06s_step.%s.sql", number, direction)] = &fstest.MapFile{Data: []byte(sql)}
	}
	return fsys
}

var threeSteps = map[string]string{
	"1.up":   `CREATE TABLE note (id int PRIMARY KEY, v vector(2)); INSERT INTO note VALUES (1, '[1,2]');`,
	"1.down": `DROP TABLE note`,
	"2.up":   `CREATE INDEX note_v ON note USING hnsw (v vector_cosine_ops)`,
	"2.down": `DROP INDEX note_v`,
	"4.up":   `ALTER TABLE note ADD COLUMN title text`,
	"4.down": `ALTER TABLE note DROP COLUMN title`,
}

func newMigrator(t *testing.T, pool *pgxpool.Pool, fsys fs.FS) *postgres.Migrator {
	t.Helper()
	m, err := postgres.NewMigrator(t.Context(), pool, fsys)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ensureSchema(t *testing.T, pool *pgxpool.Pool, schema string) {
	t.Helper()
	if err := postgres.EnsureSchema(t.Context(), pool, schema); err != nil {
		t.Fatal(err)
	}
}

// wantClean fails the test if a connection is not back in the pool, an advisory lock is
// still taken, or a pooled connection has another search path or role.
func wantClean(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	// The pool closes interrupted connections in the background.
	wait.For(t, "all connections to be back", func() bool { return pool.Stat().AcquiredConns() == 0 })
	for _, conn := range pool.AcquireAllIdle(context.Background()) {
		var locks int
		var path string
		var ownRole bool
		err := conn.QueryRow(context.Background(), `SELECT current_setting('search_path'), current_user = session_user,
			(SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database WHERE locktype = 'advisory' AND datname = current_database())`).Scan(&path, &ownRole, &locks)
		if err != nil || locks != 0 || path != `"extensions"` || !ownRole {
			t.Errorf("%d locks, search_path %s, own role %v, %v", locks, path, ownRole, err)
		}
		conn.Release()
	}
}

func TestMigrateUpDownUp(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"tenant_acme", `odd "name' with.everything`} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.Pool(t)
			m := newMigrator(t, pool, files(threeSteps))
			ensureSchema(t, pool, schema)
			ensureSchema(t, pool, schema) // does nothing for a schema that exists
			if m.Newest() != 4 {
				t.Fatalf("newest = %d, want 4", m.Newest())
			}
			for _, step := range []struct {
				name          string
				run           func(context.Context, string) (int, error)
				files, atLast int
			}{{"up", m.Up, 3, 4}, {"up, with none due", m.Up, 0, 4}, {"down", m.Down, 3, 0}, {"up again", m.Up, 3, 4}} {
				n, err := step.run(t.Context(), schema)
				if err != nil || n != step.files {
					t.Fatalf("%s ran %d files, %v; want %d", step.name, n, err, step.files)
				}
				if v, err := m.Version(t.Context(), schema); err != nil || v != step.atLast {
					t.Fatalf("%s ended at version %d, %v; want %d", step.name, v, err, step.atLast)
				}
			}
			var n int
			err := pool.QueryRow(t.Context(), `SELECT count(title) FROM `+pgx.Identifier{schema, "note"}.Sanitize()).Scan(&n)
			if err != nil || n != 0 {
				t.Errorf("the schema is not as migrated: %d, %v", n, err)
			}
			wantClean(t, pool)
		})
	}
}

func TestFailedMigrationIsRolledBackAndCanBeRetried(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	ensureSchema(t, pool, "acme")
	broken := newMigrator(t, pool, files(map[string]string{
		"1.up": threeSteps["1.up"],
		"2.up": "CREATE TABLE half (id int);\nSELECT nonsense;",
	}))
	n, err := broken.Up(t.Context(), "acme")
	if n != 1 || err == nil {
		t.Fatalf("Up = %d, %v; want 1 and an error", n, err)
	}
	for _, want := range []string{`schema "acme"`, "version 2, line 2", "nonsense"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if v, err := broken.Version(t.Context(), "acme"); err != nil || v != 1 {
		t.Errorf("version %d, %v after the failure; want 1", v, err)
	}
	wantClean(t, pool)

	repaired := newMigrator(t, pool, files(map[string]string{"1.up": threeSteps["1.up"], "2.up": "CREATE TABLE half (id int)"}))
	if n, err := repaired.Up(t.Context(), "acme"); n != 1 || err != nil {
		t.Errorf("with the file repaired Up = %d, %v; want 1", n, err)
	}
}

func TestInterruptedMigrationIsRolledBack(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	ensureSchema(t, pool, "acme")
	slow := newMigrator(t, pool, files(map[string]string{"1.up": `CREATE TABLE note (id int); SELECT pg_sleep(60)`}))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := slow.Up(ctx, "acme"); fault.KindOf(err) != fault.Deadline {
		t.Fatalf("error %v, want the deadline", err)
	}
	quick := newMigrator(t, pool, files(map[string]string{"1.up": `CREATE TABLE note (id int)`}))
	if n, err := quick.Up(t.Context(), "acme"); n != 1 || err != nil {
		t.Errorf("afterwards Up = %d, %v; want 1", n, err)
	}
	wantClean(t, pool)
}

func TestReplicasMayMigrateAtOnce(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	m := newMigrator(t, pool, files(threeSteps))
	applied := make([]int, 8)
	var g errgroup.Group
	for i := range applied {
		g.Go(func() (err error) {
			schema := fmt.Sprintf("tenant_%d", i%2)
			if err = postgres.EnsureSchema(t.Context(), pool, schema); err == nil {
				applied[i], err = m.Up(t.Context(), schema)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, n := range applied {
		total += n
	}
	if total != 6 {
		t.Errorf("%d files ran in two schemas (%v), want 6", total, applied)
	}
	wantClean(t, pool)
}

func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	m := newMigrator(t, pool, files(threeSteps))
	t.Run("a schema that does not exist", func(t *testing.T) {
		if _, err := m.Up(t.Context(), "nobody"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("error %v, want not found", err)
		}
		var n int
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_tables WHERE tablename = 'note'`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d tables were created in other schemas, %v", n, err)
		}
	})
	t.Run("a schema that another tool left dirty", func(t *testing.T) {
		ensureSchema(t, pool, "dirty")
		if _, err := m.Up(t.Context(), "dirty"); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), `UPDATE dirty.schema_migrations SET version = 2, dirty = true`); err != nil {
			t.Fatal(err)
		}
		_, err := m.Up(t.Context(), "dirty")
		if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "dirty at version 2") {
			t.Errorf("error %v, want that the schema is dirty", err)
		}
	})
	t.Run("a version without a file", func(t *testing.T) {
		ensureSchema(t, pool, "odd")
		if _, err := m.Up(t.Context(), "odd"); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), `UPDATE odd.schema_migrations SET version = 3`); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Up(t.Context(), "odd"); err == nil || !strings.Contains(err.Error(), "no migration found for version 3") {
			t.Errorf("error %v, want that there is no version 3", err)
		}
	})
	wantClean(t, pool)
}

func TestUpDoesNotChangeANewerSchema(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	ensureSchema(t, pool, "acme")
	if _, err := newMigrator(t, pool, files(threeSteps)).Up(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	older := newMigrator(t, pool, files(map[string]string{"1.up": threeSteps["1.up"]}))
	if n, err := older.Up(t.Context(), "acme"); n != 0 || err != nil {
		t.Errorf("Up = %d, %v; want 0", n, err)
	}
}

func BenchmarkMigrate(b *testing.B) {
	pool := pgtest.Pool(b)
	m, err := postgres.NewMigrator(b.Context(), pool, files(threeSteps))
	if err != nil {
		b.Fatal(err)
	}
	up := func(b *testing.B, schema string) {
		if err := postgres.EnsureSchema(b.Context(), pool, schema); err != nil {
			b.Fatal(err)
		}
		if _, err := m.Up(b.Context(), schema); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("files=3", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			up(b, fmt.Sprintf("tenant_%d_%d", b.N, i))
		}
	})
	b.Run("none due", func(b *testing.B) {
		up(b, "tenant_done")
		for b.Loop() {
			if _, err := m.Up(b.Context(), "tenant_done"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
