package move_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// Every table with rows of all tenants refuses the writes of a tenant that is stopped, and nobody else's.
func TestEverySharedTableRefusesAStoppedTenant(t *testing.T) {
	t.Parallel()
	f := setup(t)
	pool := f.pools[""]
	rows, err := pool.Query(t.Context(), `
		SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'ragd_shared'::regnamespace AND c.relkind = 'r' AND c.relrowsecurity AND c.relname <> 'stopped_tenants'`)
	must(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	if len(tables) < 20 {
		t.Fatalf("there are %d tables", len(tables))
	}
	stopped := f.create(t, unique("stopped"))
	free := f.create(t, unique("free"))
	_, err = pool.Exec(t.Context(), `INSERT INTO ragd_shared.stopped_tenants (tenant_id) VALUES ($1)`, stopped.Tenant())
	must(t, err)
	for _, table := range tables {
		for _, sql := range []string{`DELETE FROM ragd_shared.%s WHERE false`, `UPDATE ragd_shared.%s SET tenant_id = tenant_id WHERE false`, `INSERT INTO ragd_shared.%[1]s (tenant_id) SELECT tenant_id FROM ragd_shared.%[1]s WHERE false`} {
			sql = fmt.Sprintf(sql, table)
			if _, err := stopped.Exec(t.Context(), sql); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%s of a stopped tenant: %v", sql, err)
			}
			if _, err := free.Exec(t.Context(), sql); err != nil {
				t.Errorf("%s of another tenant: %v", sql, err)
			}
		}
		if _, err := data.Value[int](t.Context(), stopped, `SELECT count(*) FROM ragd_shared.`+table); err != nil {
			t.Errorf("a stopped tenant cannot read %s: %v", table, err)
		}
	}
}

// While writes are stopped, also an instance that has not heard of the move cannot write into any table, or make one; it reads.
func TestAStoppedTenantReadsOnly(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := tenant.ID(unique("acme"))
	f.create(t, string(id))
	h := f.two.db.Handle(id)
	checked := false
	f.step = func(step string) {
		if step != "copying shared rows" {
			return
		}
		checked = true
		for _, sql := range []string{
			`UPDATE tenant.documents SET title = 'x'`, `DELETE FROM tenant.chunk_1`, `TRUNCATE tenant.edge_1`, `INSERT INTO tenant."odd Name" VALUES ('y')`,
			`UPDATE ragd_shared.tools SET title = 'x'`, `CREATE TABLE tenant.later (a int)`,
		} {
			if _, err := h.Exec(t.Context(), sql); err == nil {
				t.Errorf("%s is accepted", sql)
			}
		}
		if n, err := data.Value[int](t.Context(), h, `SELECT count(*) FROM tenant.chunk_1`); n != 500 || err != nil {
			t.Errorf("%d chunks are read, %v", n, err)
		}
	}
	before := f.contents(t, "", id)
	f.moveTo(t, id, "east")
	if !checked {
		t.Fatal("nothing was checked")
	}
	if diff := cmp.Diff(before, f.contents(t, "east", id)); diff != "" {
		t.Errorf("what the tenant has (-before +after):\n%s", diff)
	}
	if _, err := h.Exec(t.Context(), `UPDATE ragd_shared.tools SET title = 'x'`); err != nil {
		t.Errorf("after the move: %v", err)
	}
}

// Changes of every kind that are made while a tenant is copied are in its new database: of rows, keys, whole tables and indexes.
func TestChangesDuringTheCopyAreCopied(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := tenant.ID(unique("acme"))
	h := f.create(t, string(id))
	var before map[string]string
	f.step = func(step string) {
		switch step {
		case "stopping writes":
			must(t, h.Tx(t.Context(), func(tx *data.Tx) error {
				return tx.Script(t.Context(),
					`DELETE FROM tenant.chunk_1 WHERE ordinal % 7 = 0`,
					`UPDATE tenant.chunk_1 SET text = 'changed', chunk_id = 'key ' || chunk_id WHERE ordinal % 7 = 1`,
					`INSERT INTO tenant.chunk_1 (chunk_id, embedding, text) VALUES ('new', '[1, 1, 1]', 'new')`,
					`DELETE FROM tenant.edge_1 WHERE ordinal < 50`,
					`INSERT INTO tenant.edge_1 SELECT e.document_id, e.ordinal, 'name', e.key, NULL FROM tenant.edge_1 AS e`,
					`INSERT INTO tenant."odd Name" VALUES ('z')`,
					`DELETE FROM tenant.documents WHERE uri = 'd7'`, // and its content, by its foreign key
					`UPDATE tenant.documents SET uri = uri || '!' WHERE uri <> 'd8'`,
					`TRUNCATE tenant.jobs`,
					`CREATE TABLE tenant.term_1 (lexeme text COLLATE "C" PRIMARY KEY, chunks bigint NOT NULL)`,
					`INSERT INTO tenant.term_1 VALUES ('word', 3)`,
					`CREATE INDEX later ON tenant.chunk_1 (document_id)`,
					`UPDATE ragd_shared.tools SET title = 'changed'`,
					`DELETE FROM tenant.indexes WHERE index_name = 'none'`,
				)
			}))
		case "copying changes":
			before = f.contents(t, "", id)
			// What the copy needs is not the tenant's.
			delete(before, `"`+id.Schema()+`".moved_keys`)
			delete(before, "schema")
			delete(before, "ragd_shared.stopped_tenants")
		}
	}
	f.moveTo(t, id, "east")
	after := f.contents(t, "east", id)
	schema := after["schema"]
	delete(after, "schema")
	delete(after, "ragd_shared.stopped_tenants")
	delete(before, "backlog") // they wait elsewhere during the move
	delete(after, "backlog")
	delete(before, "tasks")
	delete(after, "tasks")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("what the tenant has (-before +after):\n%s", diff)
	}
	if !strings.Contains(schema, "later") || !strings.Contains(schema, "term_1") || strings.Contains(schema, "moving_") || strings.Contains(schema, "moved_keys") {
		t.Errorf("the schema is\n%s", schema)
	}
}

// A target that lacks the extension or stops answering leaves the tenant where it is, with its writes.
func TestAMoveToADatabaseThatCannotTakeTheTenantFails(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]struct {
		do   func(t *testing.T, f *fixture)
		says string
	}{
		"without pgvector": {func(t *testing.T, f *fixture) {
			_, err := f.pools["east"].Exec(t.Context(), `DROP EXTENSION vector CASCADE`)
			must(t, err)
		}, "lacks the extension vector"},
		"down": {func(_ *testing.T, f *fixture) { f.pools["east"].Close() }, "not answering"},
		"full": {func(t *testing.T, f *fixture) {
			_, err := f.pools["east"].Exec(t.Context(), `
				CREATE FUNCTION public.full() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$;
				CREATE EVENT TRIGGER full_disk ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION public.full()`)
			must(t, err)
		}, "disk of the PostgreSQL server is full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			id := tenant.ID(unique("acme"))
			h := f.create(t, string(id))
			m, err := f.moves.Start(f.operator, string(id), "east")
			must(t, err)
			breaks.do(t, f)
			if err := f.moves.Attempt(t.Context(), m, true); !job.Snoozed(err) { // for what is left to do
				t.Errorf("the last attempt: %v", err)
			}
			now, err := f.moves.Get(f.operator, m.ID)
			must(t, err)
			if now.Phase != move.Failed || !strings.Contains(now.Error, breaks.says) {
				t.Errorf("the move is %+v", now)
			}
			if _, err := h.Exec(t.Context(), `UPDATE ragd_shared.tools SET title = 'after'`); err != nil {
				t.Errorf("a write after the move has failed: %v", err)
			}
			if _, err := h.Exec(t.Context(), `UPDATE tenant.documents SET title = 'after'`); err != nil {
				t.Errorf("a write after the move has failed: %v", err)
			}
			if done := f.moveTo(t, id, "west"); done.Phase != move.Done {
				t.Errorf("another move: %+v", done)
			}
		})
	}
}

// inUse returns whether a database may not be removed because of moves.
func (f *fixture) inUse(t *testing.T, database string) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), f.pools[""], func(tx pgx.Tx) error { return move.InUse(t.Context(), tx, database) })
}

// A database is not removed while a tenant is moved to or from it. A move that cannot begin leaves the old copy of the
// one before, and one whose source was removed when it was down ends.
func TestADatabaseIsKeptForItsMoves(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := tenant.ID(unique("acme"))
	f.create(t, string(id))
	other := f.create(t, unique("other")).Tenant()
	m, err := f.moves.Start(f.operator, string(id), "east")
	must(t, err)
	if err := f.inUse(t, "east"); fault.KindOf(err) != fault.Precondition {
		t.Errorf("the target of a move is removed: %v", err)
	}
	must(t, f.inUse(t, "west"))
	if err := f.moves.AttemptAs(t.Context(), other, m); err != nil {
		t.Errorf("a task of another tenant: %v", err)
	}
	if now, err := f.moves.Get(f.operator, m.ID); err != nil || now.Phase != move.Copying || now.Attempts != 0 {
		t.Errorf("after a task of another tenant: %+v, %v", now, err)
	}
	f.moveOn(t, m, move.Done)

	m, err = f.moves.Start(f.operator, string(id), "west")
	must(t, err)
	f.moveOn(t, m, move.Dropping)
	for _, to := range []string{"west", "nowhere"} {
		if m, err := f.moves.Start(f.operator, string(id), to); err == nil {
			t.Errorf("moved to %s: %+v", to, m)
		}
	}
	var kept bool
	must(t, f.pools["east"].QueryRow(t.Context(), `SELECT to_regnamespace($1) IS NOT NULL`, `"left_`+id.Schema()+`"`).Scan(&kept))
	if !kept {
		t.Error("a move that did not begin has dropped the old copy")
	}
	_, err = f.pools[""].Exec(t.Context(), `UPDATE ragd.moves SET keep_until = now() + interval '1 hour' WHERE phase = 'dropping'`)
	must(t, err)
	if err := f.inUse(t, "east"); fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "keeps a copy") {
		t.Errorf("a database with an old copy is removed: %v", err)
	}
	_, err = f.pools[""].Exec(t.Context(), `UPDATE ragd.moves SET keep_until = now() - interval '1 hour' WHERE phase = 'dropping'`)
	must(t, err)
	must(t, f.inUse(t, "east"))
	delete(f.registered, "east") // as it was down
	if done := f.end(t, m); done.Phase != move.Done {
		t.Errorf("the move is %+v", done)
	}
}

// moveOn runs the task of a move until it has a phase.
func (f *fixture) moveOn(t *testing.T, m move.Move, phase move.Phase) {
	t.Helper()
	for range wait.Poll(t, "the phase of the move") {
		now, err := f.moves.Get(f.operator, m.ID)
		must(t, err)
		if now.Phase == phase {
			return
		}
		if err := f.moves.Attempt(t.Context(), m, false); err != nil && !job.Snoozed(err) {
			t.Fatalf("the move %+v: %v", now, err)
		}
	}
}

// What is in a database that a tenant brought is not trusted: nothing of it becomes a statement elsewhere.
func TestATenantIsNotMovedOutOfItsOwnDatabase(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := tenant.ID(unique("acme"))
	f.create(t, string(id))
	f.own[id] = true
	if m, err := f.moves.Start(f.operator, string(id), "east"); fault.KindOf(err) != fault.Precondition {
		t.Errorf("moved %+v, %v", m, err)
	}
}

// What a deleted tenant had is also deleted from the database that kept a copy of it.
func TestDeletingAMovedTenantDeletesItsCopy(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := tenant.ID(unique("acme"))
	f.create(t, string(id))
	m, err := f.moves.Start(f.operator, string(id), "east")
	must(t, err)
	if _, err := f.tenants.Delete(f.operator, string(id)); fault.KindOf(err) != fault.Precondition {
		t.Errorf("a tenant that is being moved is deleted: %v", err)
	}
	if err := f.moves.Attempt(t.Context(), m, false); !job.Snoozed(err) {
		t.Fatal(err)
	}
	if err := f.moves.Attempt(t.Context(), m, false); !job.Snoozed(err) {
		t.Fatal(err)
	}
	_, err = f.tenants.Delete(f.operator, string(id))
	must(t, err)
	for database := range f.pools {
		f.checkNothingLeft(t, database, id)
	}
	must(t, f.moves.Attempt(t.Context(), m, false)) // its task may be left
	_, err = f.tenants.CreateNew(f.operator, provision.Creation{TenantID: string(id), Database: tenant.FirstDatabase})
	must(t, err)
}

// A tenant of 10,000 chunks is moved: how long it takes, and for how long writes are refused.
func TestTheMoveOfATenantWithManyChunks(t *testing.T) {
	if os.Getenv("RAGD_TEST_HUGE") == "" {
		t.Skip("it takes a minute: set RAGD_TEST_HUGE=1")
	}
	f := setup(t)
	id := tenant.ID(unique("acme"))
	h := f.create(t, string(id))
	must(t, h.Tx(t.Context(), func(tx *data.Tx) error {
		return tx.Script(t.Context(),
			`DELETE FROM ragd_shared.hooks`,
			`CREATE TABLE tenant.chunk_2 (namespace text COLLATE "C" NOT NULL DEFAULT 'default', chunk_id text COLLATE "C" NOT NULL, embedding vector(384) NOT NULL, metadata jsonb NOT NULL DEFAULT '{}',
				text text NOT NULL, terms tsvector, PRIMARY KEY (namespace, chunk_id))`,
			`ALTER TABLE tenant.chunk_2 ALTER embedding SET STORAGE PLAIN`,
			`INSERT INTO tenant.chunk_2 (chunk_id, embedding, text, terms)
				SELECT 'c' || n, (SELECT array_agg(random()) FROM generate_series(1, 384) WHERE n > 0)::vector, t.text, to_tsvector('english', t.text)
				FROM generate_series(1, 10000) AS n CROSS JOIN LATERAL (SELECT string_agg(md5(n::text || w), ' ') AS text FROM generate_series(1, 40) AS w) AS t`,
			`CREATE INDEX ON tenant.chunk_2 USING hnsw (embedding vector_cosine_ops)`,
			`CREATE INDEX ON tenant.chunk_2 USING gin (terms)`,
		)
	}))
	for _, to := range []string{"east", "main"} {
		began := time.Now()
		m, err := f.moves.Start(f.operator, string(id), to)
		must(t, err)
		if err := f.moves.Attempt(context.WithoutCancel(t.Context()), m, false); !job.Snoozed(err) {
			t.Fatal(err)
		}
		took := time.Since(began)
		done := f.end(t, m)
		t.Logf("to %s: %d rows, %d MB in %v, writes refused for %v", to, done.Rows, done.Bytes>>20, took.Round(time.Millisecond), done.Pause)
	}
}
