package move_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unique returns the name of a tenant that no other test uses: roles belong to the server.
func unique(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()[:8]) }

// databases are registered databases, as package placement has them. A handle asks for the database of its tenant at
// each statement.
type databases struct {
	first *pgxpool.Pool
	all   map[string]*provision.Database
	sites map[string]*data.Site

	mu    sync.Mutex
	known map[tenant.ID]string // what this instance believes
	own   map[tenant.ID]bool   // that live in databases of their own
}

func (d *databases) Open(_ context.Context, name string) (*provision.Database, error) {
	found, ok := d.all[name]
	if !ok {
		return nil, fault.New(fault.NotFound, "database %q not found", name)
	}
	return found, nil
}

func (d *databases) Opened() (all []*provision.Database, silent []provision.LeftOut) {
	for _, one := range d.all {
		all = append(all, one)
	}
	return all, nil
}

func (d *databases) Choose(_ context.Context, wanted string, _ tenant.ID) (string, error) {
	if wanted == tenant.FirstDatabase {
		wanted = ""
	}
	return wanted, nil
}

func (d *databases) Own(_ context.Context, id tenant.ID) (bool, error) { return d.own[id], nil }

func (d *databases) look(ctx context.Context, id tenant.ID) (name string, err error) {
	err = d.first.QueryRow(ctx, `SELECT database_name FROM ragd.tenants WHERE tenant_id = $1`, id).Scan(&name)
	return name, err
}

func (d *databases) Of(ctx context.Context, id tenant.ID) (*data.Site, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, ok := d.known[id]
	if !ok {
		var err error
		if name, err = d.look(ctx, id); err != nil {
			return nil, err
		}
		d.known[id] = name
	}
	return d.sites[name], nil
}

func (d *databases) Moved(ctx context.Context, id tenant.ID, refused *data.Site) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, err := d.look(ctx, id)
	d.known[id] = name
	return name != refused.Name, err
}

// instance is one instance of a service: it has its own belief where tenants live.
type instance struct{ db *data.DB }

// fixture is a service with several databases.
type fixture struct {
	pools      map[string]*pgxpool.Pool
	tenants    *provision.Service
	moves      *move.Service
	operator   context.Context
	step       func(string) // called before each step of moves
	one, two   instance
	own        map[tenant.ID]bool // that live in databases of their own
	registered map[string]*provision.Database
}

// setup makes a service with the databases main, east and west.
func setup(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{pools: map[string]*pgxpool.Pool{}, step: func(string) {}}
	ctx := t.Context()
	var instances [2]*databases
	for i := range instances {
		instances[i] = &databases{all: map[string]*provision.Database{}, sites: map[string]*data.Site{}, known: map[tenant.ID]string{}, own: map[tenant.ID]bool{}}
	}
	for _, name := range []string{"", "east", "west"} {
		pool := schematest.Pool(t)
		f.pools[name] = pool
		for _, d := range instances {
			d.sites[name] = data.NewSite(name, pool, 0)
			if name == "" {
				d.first = pool
				continue
			}
			opened, err := provision.NewDatabase(ctx, name, pool, pool)
			must(t, err)
			d.all[name] = opened
			_, err = d.first.Exec(ctx, `INSERT INTO ragd.databases (database_name, database_id, url, address, max_connections) VALUES ($1, gen_random_uuid(), '', '', 1) ON CONFLICT DO NOTHING`, name)
			must(t, err)
		}
	}
	f.own, f.registered = instances[0].own, instances[0].all
	queue, err := job.NewQueue(job.QueueConfig{Driver: riverpgxv5.New(f.pools[""]), Instance: "test", Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	f.tenants, err = provision.New(ctx, f.pools[""], provision.Config{
		Databases: instances[0], OnErase: []provision.RowsFunc{queue.DeleteTenant, backlog.DeleteTenant},
	})
	must(t, err)
	f.moves, err = move.New(move.Config{Tenants: f.tenants, Control: f.pools[""], Queue: queue, Keep: time.Millisecond}.At(func(name string) { f.step(name) }))
	must(t, err)
	queue.Register(f.moves.Runners())
	f.tenants.BeforeDelete(f.moves.Settle)
	f.operator = access.NewContext(ctx, &access.Request{Principal: access.Principal{Scopes: []access.Scope{access.Operator}}})
	for i, to := range []*instance{&f.one, &f.two} {
		to.db = data.NewDB(f.pools[""], 0).WithPlacement(instances[i])
	}
	return f
}

// create makes a tenant in the first database, with something in tables of its own and in tables with rows of all tenants.
func (f *fixture) create(t *testing.T, name string) *data.Handle {
	t.Helper()
	_, err := f.tenants.CreateNew(f.operator, provision.Creation{TenantID: name, Database: tenant.FirstDatabase})
	must(t, err)
	h := f.one.db.Handle(tenant.ID(name))
	must(t, h.Tx(t.Context(), func(tx *data.Tx) error {
		return tx.Script(t.Context(), fill...)
	}))
	_, err = f.pools[""].Exec(t.Context(), `
		INSERT INTO ragd.backlog (tenant_id, document_id, index_id, version, job_id, bytes, claimed_by)
		VALUES ($1, '00000000-0000-0000-0000-000000000001', 1, 1, gen_random_uuid(), 10, 'an instance')`, name)
	must(t, err)
	_, err = f.pools[""].Exec(t.Context(), `
		INSERT INTO ragd.river_job (args, kind, max_attempts, state, attempted_at, attempt) VALUES (jsonb_build_object('tenant', $1::text, 'index_id', 1), 'maintain', 8, 'running', now(), 1)`, name)
	must(t, err)
	return h
}

// fill are statements that give a tenant something of each kind of table.
var fill = []string{
	`INSERT INTO tenant.indexes (index_name, dimension, metric, vector_type, index_config, metadata_indexes, embedding_model, chunking, text_language)
		VALUES ('docs', 3, 'cosine', 'vector', '{}', '{}', 'builtin', '{}', 'english')`,
	`CREATE TABLE tenant.chunk_1 (namespace text COLLATE "C" NOT NULL DEFAULT 'default', chunk_id text COLLATE "C" NOT NULL, document_id uuid, ordinal int,
		embedding vector(3) NOT NULL, metadata jsonb NOT NULL DEFAULT '{}', text text NOT NULL DEFAULT '', terms tsvector, size int GENERATED ALWAYS AS (length(text)) STORED, PRIMARY KEY (namespace, chunk_id)) WITH (fillfactor = 80)`,
	`ALTER TABLE tenant.chunk_1 ALTER embedding SET STORAGE PLAIN, ALTER metadata SET STORAGE MAIN`,
	`INSERT INTO tenant.chunk_1 (chunk_id, document_id, ordinal, embedding, text) SELECT 'c' || n, gen_random_uuid(), n, ARRAY[random(), random(), 1]::vector, 'text ' || n FROM generate_series(1, 500) AS n`,
	`CREATE INDEX embedding_1 ON tenant.chunk_1 USING hnsw (embedding vector_cosine_ops)`,
	`CREATE INDEX ON tenant.chunk_1 USING gin (terms)`,
	`CREATE INDEX ON tenant.chunk_1 ((metadata ->> 'a')) WHERE document_id IS NOT NULL`,
	`CREATE TABLE tenant.edge_1 (document_id uuid NOT NULL, ordinal int NOT NULL, type ragd_shared.edge_type NOT NULL, key bigint, cosine real)`,
	`INSERT INTO tenant.edge_1 SELECT gen_random_uuid(), n, 'similar', n, 0.5 FROM generate_series(1, 100) AS n`,
	`CREATE INDEX ON tenant.edge_1 (document_id, ordinal)`,
	`CREATE UNIQUE INDEX ON tenant.edge_1 (type, key, document_id, ordinal) WHERE key IS NOT NULL`,
	`CREATE TRIGGER inserted AFTER INSERT ON tenant.edge_1 REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.edges_changed('1')`,
	`CREATE TABLE tenant."odd Name" (a text, b bytea)`, // without a key
	`INSERT INTO tenant."odd Name" VALUES ('x', '\\x00'), ('x', '\\x00'), (NULL, NULL)`,
	`INSERT INTO ragd_shared.hooks (hook_name, url, description, events, topics, tools, indexes, headers, include_content, max_payload_bytes, secret, enabled)
		VALUES ('all', 'https://example.com', '', '{*}', '{*}', '{}', '{}', '{}', false, 1000, '', true)`,
	`INSERT INTO tenant.documents (document_id, index_id, uri, title, content_type, metadata, chunking, content_hash, content_sha256, version, status, byte_size, job_id)
		SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 1, 'd' || n, '', 'text/plain', '{}', '{}', '', '', 1, 'pending', 10, gen_random_uuid() FROM generate_series(1, 50) AS n`,
	`INSERT INTO tenant.document_contents (document_id, content) SELECT document_id, 'abc' FROM tenant.documents`,
	`INSERT INTO tenant.jobs (job_id, kind, status, index_name, document_id) SELECT job_id, 'ingest', 'queued', 'docs', document_id FROM tenant.documents`,
	`UPDATE tenant.documents SET status = 'ready'`,
	`INSERT INTO ragd_shared.tools (tool_name, kind, title, description, settings, arguments, fixed) SELECT 'tool' || n, '', '', '', '{}', '{}', false FROM generate_series(1, 30) AS n`,
}

// contents returns what the database that serves a tenant has of it, by table, without what belongs to a database.
func (f *fixture) contents(t *testing.T, database string, id tenant.ID) map[string]string {
	t.Helper()
	pool := f.pools[database]
	rows, err := pool.Query(t.Context(), `
		SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), n.nspname = 'ragd_shared'
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.relkind = 'r' AND (n.nspname = $1 OR n.nspname = 'ragd_shared' AND c.relrowsecurity)`, id.Schema())
	must(t, err)
	tables := map[string]bool{}
	var name string
	var shared bool
	_, err = pgx.ForEachRow(rows, []any{&name, &shared}, func() error { tables[name] = shared; return nil })
	must(t, err)
	found := map[string]string{}
	for name, shared := range tables {
		where, args := "", []any{}
		if shared {
			where, args = ` WHERE r.tenant_id = $1`, []any{id}
		}
		var text string
		must(t, pool.QueryRow(t.Context(), `SELECT count(*) || ' ' || coalesce(md5(string_agg(x, '|' ORDER BY x)), '') FROM (SELECT (to_jsonb(r) - '{xid,number}'::text[])::text AS x FROM `+name+` AS r`+where+`) AS rows`, args...).Scan(&text))
		found[name] = text
	}
	for what, query := range map[string]string{
		"backlog":         `SELECT count(*) FROM ragd.backlog WHERE tenant_id = $1`,
		"tasks":           `SELECT count(*) FROM ragd.river_job WHERE args ->> 'tenant' = $1 AND kind <> 'move'`,
		"events in order": `SELECT coalesce(md5(string_agg(event_id::text, ',' ORDER BY xid, number)), '') FROM ragd_shared.events WHERE tenant_id = $1`,
		"deliveries of events": `SELECT count(*) || coalesce(md5(string_agg(d.delivery_id::text || e.event_id::text, ',' ORDER BY d.delivery_id)), '')
			FROM ragd_shared.hook_deliveries AS d JOIN ragd_shared.events AS e USING (tenant_id, xid, number) WHERE d.tenant_id = $1`,
		"numbers": `SELECT last_value FROM ` + pgx.Identifier{id.Schema()}.Sanitize() + `.indexes_index_id_seq WHERE $1 <> ''`,
	} {
		var text any
		must(t, pool.QueryRow(t.Context(), query, id).Scan(&text))
		found[what] = fmt.Sprint(text)
	}
	found["schema"] = pgtest.Dump(t, pool, id.Schema())
	return found
}

// moveTo moves a tenant, until nothing is left to do.
func (f *fixture) moveTo(t *testing.T, id tenant.ID, database string) move.Move {
	t.Helper()
	m, err := f.moves.Start(f.operator, string(id), database)
	must(t, err)
	return f.end(t, m)
}

// end runs the task of a move until the move has ended.
func (f *fixture) end(t *testing.T, m move.Move) move.Move {
	t.Helper()
	var now move.Move
	wait.For(t, "the end of the move", func() bool {
		err := f.moves.Attempt(t.Context(), m, false)
		var failed error
		now, failed = f.moves.Get(f.operator, m.ID)
		must(t, failed)
		ended := now.Phase == move.Done || now.Phase == move.Failed && now.Step == ""
		if !ended && err != nil && !job.Snoozed(err) {
			t.Fatalf("move %+v: %v", now, err)
		}
		return ended
	})
	return now
}

func title(name string) string {
	if name == "" {
		return tenant.FirstDatabase
	}
	return name
}

func TestAMovedTenantHasAllThatItHad(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := tenant.ID(unique("acme"))
	h := f.create(t, string(id))
	other := f.create(t, unique("other")).Tenant()
	others := f.contents(t, "", other)
	before := f.contents(t, "", id)
	if strings.HasPrefix(before["ragd_shared.events"], "0 ") || before["deliveries of events"] == "0" {
		t.Fatalf("the tenant has no events or deliveries: %v", before)
	}
	at := ""
	for _, to := range []string{"east", "west", ""} {
		done := f.moveTo(t, id, title(to))
		if done.Phase != move.Done || done.Rows < 700 || done.Bytes < 10_000 {
			t.Errorf("moved %+v", done)
		}
		if diff := cmp.Diff(before, f.contents(t, to, id)); diff != "" {
			t.Fatalf("what the tenant has (-before +in %s):\n%s", title(to), diff)
		}
		if n, err := data.Value[int](t.Context(), h, `SELECT count(*) FROM tenant.chunk_1`); n != 500 || err != nil {
			t.Errorf("in %s the tenant reads %d chunks, %v", title(to), n, err)
		}
		f.checkNothingLeft(t, at, id)
		at = to
	}
	if diff := cmp.Diff(others, f.contents(t, "", other)); diff != "" {
		t.Errorf("what another tenant has (-before +after):\n%s", diff)
	}
	_, err := f.tenants.Delete(f.operator, string(id))
	must(t, err)
}

// checkNothingLeft fails if a database has something of a tenant that does not live there.
func (f *fixture) checkNothingLeft(t *testing.T, database string, id tenant.ID) {
	t.Helper()
	var schemas, rows int
	must(t, f.pools[database].QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname IN ($1, $2)`, id.Schema(), "left_"+id.Schema()).Scan(&schemas))
	for _, table := range []string{"ragd_shared.tools", "ragd_shared.events", "ragd_shared.hooks", "ragd.backlog", "ragd_shared.stopped_tenants"} {
		var n int
		must(t, f.pools[database].QueryRow(t.Context(), `SELECT count(*) FROM `+table+` WHERE tenant_id = $1`, id).Scan(&n))
		rows += n
	}
	if schemas+rows > 0 {
		t.Errorf("%s still has %d schemas and %d rows of the tenant", title(database), schemas, rows)
	}
}
