package connector_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

const publication = `CREATE PUBLICATION articles FOR TABLE public.articles`

// newLogicalDatabase is newDatabase for a server whose changes can be decoded.
func newLogicalDatabase(t *testing.T, statements ...string) (*pgxpool.Pool, string) {
	t.Helper()
	return servedDatabase(t, pgtest.Logical(t).Pool(t), statements...)
}

// replicated is rows whose changes are followed.
func replicated(query string) *ragdv1.CreateConnectorRequest {
	req := rows(query)
	req.GetPostgres().Replication = &ragdv1.PostgresReplication{Publication: "articles", Slot: "ragd_articles", CreateSlot: true}
	return req
}

// awaitRows waits until the index has these documents of the connector, by the ends of their uris, with their versions.
func awaitRows(t *testing.T, c servicetest.Client, want ...string) {
	t.Helper()
	awaitDocuments(t, c, "postgres://site/", want)
}

func connectorOf(t *testing.T, c servicetest.Client) *ragdv1.Connector {
	t.Helper()
	got, err := c.GetConnector(t.Context(), &ragdv1.GetConnectorRequest{ConnectorName: "site"})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// slots returns how many replication slots a database has.
func slots(t *testing.T, pool *pgxpool.Pool, where string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_replication_slots WHERE `+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func awaitFollowed(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	wait.For(t, "the connection that follows", func() bool { return slots(t, pool, "active") == 1 })
}

// Changes arrive without a run, each as the query sees the row, and in the tenant of the connector alone.
func TestChangesOfATableAreFollowed(t *testing.T) {
	t.Parallel()
	pool, address := newLogicalDatabase(t, articles, publication, `CREATE TABLE public.others (id bigint PRIMARY KEY)`, `ALTER PUBLICATION articles ADD TABLE public.others`,
		`INSERT INTO public.articles SELECT i, now(), 'This is article ' || i, 'red' FROM generate_series(1, 3) AS i`)
	s := newSecretService(t, "127.0.0.1")
	acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
	setSecret(t, acme, "db", address)
	req := replicated(`SELECT id AS number, updated_at, text, team FROM public.articles WHERE team <> 'secret'`)
	req.GetPostgres().IdColumn = "number"
	req.Metadata, req.MaxItems = map[string]string{"team": "item.attributes.team"}, 3000
	if got := create(t, acme, req); got.Status != "succeeded" || got.Counts.Added != 3 || got.NextRunTime != nil {
		t.Fatalf("first run: %v", got)
	}
	awaitFollowed(t, pool)

	change(t, pool, `INSERT INTO public.articles VALUES (4, now(), 'This is another article', 'blue'), (5, now(), 'This is hidden', 'secret')`)
	awaitRows(t, acme, "1 v1", "2 v1", "3 v1", "4 v1")
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Documents {
		if team := d.Metadata.AsMap()["team"]; (d.Uri == "postgres://site/4") != (team == "blue") {
			t.Errorf("document %s: %v", d.Uri, d.Metadata)
		}
	}
	// A change is seen although its updated column stays.
	change(t, pool, `UPDATE public.articles SET text = 'This is new' WHERE id = 2`)
	awaitRows(t, acme, "1 v1", "2 v2", "3 v1", "4 v1")
	change(t, pool, `DELETE FROM public.articles WHERE id = 1`)
	awaitRows(t, acme, "2 v2", "3 v1", "4 v1")
	change(t, pool, `UPDATE public.articles SET id = 30 WHERE id = 3`)
	awaitRows(t, acme, "2 v2", "30 v1", "4 v1")
	// A row that the query leaves out has no document.
	change(t, pool, `UPDATE public.articles SET team = 'secret' WHERE id = 4`)
	awaitRows(t, acme, "2 v2", "30 v1")
	change(t, pool, `UPDATE public.articles SET text = ' ' WHERE id = 2`)
	awaitRows(t, acme, "30 v1")
	// A text that the database does not send, because it has not changed and is stored elsewhere.
	change(t, pool, `UPDATE public.articles SET text = (SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, 1000) AS i) WHERE id = 30`)
	awaitRows(t, acme, "30 v2")
	change(t, pool, `UPDATE public.articles SET team = 'green' WHERE id = 30`)
	awaitRows(t, acme, "30 v3")
	// One transaction with more rows than are read at once, and a column that comes and goes.
	change(t, pool, `ALTER TABLE public.articles ADD extra text DEFAULT 'x'`)
	change(t, pool, `WITH others AS (INSERT INTO public.others VALUES (1)) INSERT INTO public.articles SELECT i, now(), 'This is article ' || i, 'red' FROM generate_series(1000, 2200) AS i`)
	wait.For(t, "all documents", func() bool {
		got, err := acme.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
		return err == nil && got.DocumentCount == 1202
	})
	change(t, pool, `DELETE FROM public.articles WHERE id >= 1000`)
	awaitRows(t, acme, "30 v3")

	var got *ragdv1.Connector
	wait.For(t, "the counts", func() bool {
		got = connectorOf(t, acme)
		return got.Counts.Added == 3+1+1+1201 && got.Counts.Deleted == 1+1+1+1+1201
	})
	if got.Status != "succeeded" || len(got.Runs) != 1 {
		t.Errorf("after the changes: %v", got)
	}
	// What is stored need not be sent again.
	wait.For(t, "the confirmation", func() bool {
		return slots(t, pool, `confirmed_flush_lsn > restart_lsn AND pg_wal_lsn_diff(pg_current_wal_flush_lsn(), confirmed_flush_lsn) < 100000`) == 1
	})
	equal(t, "documents of another tenant", documentsUnder(t, bolt, ""), []string{})
	if _, err := bolt.GetConnector(t.Context(), &ragdv1.GetConnectorRequest{ConnectorName: "site"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("connector of another tenant: %v", err)
	}
	// A run lists all and goes on to follow.
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Seen != 2 || got.Counts.Skipped != 1 {
		t.Errorf("another run: %v", got)
	}
	change(t, pool, `UPDATE public.articles SET text = 'This is the last one' WHERE id = 30`)
	awaitRows(t, acme, "30 v4")

	gone, err := acme.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site", DeleteDocuments: true})
	if err != nil || gone.KeptSlot != "" || gone.DeletedCount != 1 {
		t.Errorf("deleted: %v %v", gone, err)
	}
	if n := slots(t, pool, "true"); n != 0 {
		t.Errorf("%d slots are left", n)
	}
}

// awaitError waits until the connector says why its changes wait.
func awaitError(t *testing.T, c servicetest.Client, part string) {
	t.Helper()
	wait.For(t, "an error with "+part, func() bool {
		got := connectorOf(t, c)
		return got.Status == "failed" && strings.Contains(got.Error, part)
	})
}

// What is not stored is not confirmed: it comes again. While a quota is met, changes wait.
func TestChangesThatCannotBeStoredWait(t *testing.T) {
	t.Parallel()
	pool, address := newLogicalDatabase(t, articles, publication, `INSERT INTO public.articles SELECT i, now(), 'This is article ' || i, 'red' FROM generate_series(1, 2) AS i`)
	s := newSecretService(t, "127.0.0.1")
	acme := newTenant(t, s, "acme")
	setSecret(t, acme, "db", address)
	req := replicated(`SELECT id, updated_at, text FROM public.articles`)
	req.MaxItems = 5
	create(t, acme, req)
	awaitFollowed(t, pool)

	change(t, s.Pool, `CREATE FUNCTION public.interrupt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'interrupted'; END $$`)
	change(t, s.Pool, `CREATE TRIGGER interrupt BEFORE INSERT ON ragd_shared.connector_items FOR EACH ROW WHEN (NEW.item_id = 'postgres://site/3') EXECUTE FUNCTION public.interrupt()`)
	change(t, pool, `INSERT INTO public.articles VALUES (3, now(), 'This is article 3', 'red')`)
	awaitError(t, acme, "changes of the table wait")
	change(t, pool, `UPDATE public.articles SET text = 'This is new' WHERE id = 1`)
	change(t, s.Pool, `DROP TRIGGER interrupt ON ragd_shared.connector_items`)
	awaitRows(t, acme, "1 v2", "2 v1", "3 v1")
	wait.For(t, "the end of the error", func() bool { got := connectorOf(t, acme); return got.Status == "succeeded" && got.Error == "" })

	// The connection is lost.
	change(t, pool, `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots`)
	change(t, pool, `DELETE FROM public.articles WHERE id = 2`)
	awaitRows(t, acme, "1 v2", "3 v1")

	limit := func(documents int) {
		t.Helper()
		_, err := s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: servicetest.Object(t, map[string]any{"maxDocuments": documents})})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(2)
	change(t, pool, `INSERT INTO public.articles VALUES (4, now(), 'This is article 4', 'red')`)
	awaitError(t, acme, "maxDocuments")
	limit(100)
	awaitRows(t, acme, "1 v2", "3 v1", "4 v1")

	change(t, pool, `INSERT INTO public.articles SELECT i, now(), 'This is article ' || i, 'red' FROM generate_series(5, 7) AS i`)
	awaitError(t, acme, "maxItems")
	if _, err := acme.UpdateConnector(t.Context(), &ragdv1.UpdateConnectorRequest{ConnectorName: "site", MaxItems: new(int32(100))}); err != nil {
		t.Fatal(err)
	}
	awaitRows(t, acme, "1 v2", "3 v1", "4 v1", "5 v1", "6 v1", "7 v1")
}

// Changes that nobody has followed are found by a run that reads all texts.
func TestLostChangesAreReadAgain(t *testing.T) {
	t.Parallel()
	pool, address := newLogicalDatabase(t, articles, publication, `INSERT INTO public.articles SELECT i, now(), 'This is article ' || i, 'red' FROM generate_series(1, 4) AS i`)
	acme := newTenant(t, newSecretService(t, "127.0.0.1"), "acme")
	setSecret(t, acme, "db", address)
	create(t, acme, replicated(`SELECT id, updated_at, text FROM public.articles`))
	awaitFollowed(t, pool)

	pause := func() {
		t.Helper()
		if _, err := acme.PauseConnector(t.Context(), &ragdv1.PauseConnectorRequest{ConnectorName: "site"}); err != nil {
			t.Fatal(err)
		}
		wait.For(t, "the end of the connection", func() bool { return slots(t, pool, "active") == 0 })
	}
	resume := func(accept bool) *ragdv1.Connector {
		t.Helper()
		before := connectorOf(t, acme)
		if _, err := acme.ResumeConnector(t.Context(), &ragdv1.ResumeConnectorRequest{ConnectorName: "site", AcceptDeletions: accept}); err != nil {
			t.Fatal(err)
		}
		return ended(t, acme, before)
	}
	// The slot is dropped, and the service makes another one.
	pause()
	change(t, pool, `SELECT pg_drop_replication_slot('ragd_articles')`)
	change(t, pool, `UPDATE public.articles SET text = 'This is new' WHERE id = 1`) // with the same updated column
	if got := resume(false); got.Status != "succeeded" || got.Counts.Updated != 1 {
		t.Errorf("after the slot was dropped: %v", got)
	}
	awaitFollowed(t, pool)
	// Somebody else reads the slot.
	pause()
	change(t, pool, `UPDATE public.articles SET text = 'This is new' WHERE id = 2`)
	change(t, pool, `SELECT pg_replication_slot_advance('ragd_articles', pg_current_wal_flush_lsn())`)
	if got := resume(false); got.Status != "succeeded" || got.Counts.Updated != 1 {
		t.Errorf("after the slot was read: %v", got)
	}
	awaitRows(t, acme, "1 v2", "2 v2", "3 v1", "4 v1")
	awaitFollowed(t, pool)
	// A row of more bytes than are received.
	change(t, pool, `INSERT INTO public.articles VALUES (5, now(), repeat('a', 18 * 1024 * 1024), 'red')`)
	wait.For(t, "a run", func() bool { got := connectorOf(t, acme); return got.Status == "succeeded" && got.Counts.Failed == 1 })
	awaitFollowed(t, pool)
	change(t, pool, `DELETE FROM public.articles WHERE id > 3`)
	awaitRows(t, acme, "1 v2", "2 v2", "3 v1")
	// The table is emptied: the tenant decides.
	change(t, pool, `TRUNCATE public.articles`)
	wait.For(t, "the pause", func() bool {
		return strings.Contains(connectorOf(t, acme).PausedReason, "3 of 3 documents are no longer in the source")
	})
	if got := resume(true); got.Status != "succeeded" || got.Counts.Deleted != 3 {
		t.Errorf("after the table was emptied: %v", got)
	}
	awaitFollowed(t, pool)
	change(t, pool, `DROP TABLE public.articles`)
	change(t, pool, articles)
	change(t, pool, `ALTER PUBLICATION articles ADD TABLE public.articles`)
	change(t, pool, `INSERT INTO public.articles VALUES (1, now(), 'This is another table', 'red')`)
	awaitRows(t, acme, "1 v1")

	// The slot that the service has made is dropped when another one is used.
	awaitFollowed(t, pool)
	other := replicated(`SELECT id, updated_at, text FROM public.articles`).GetPostgres()
	other.Replication.Slot = "another"
	if _, err := acme.UpdateConnector(t.Context(), &ragdv1.UpdateConnectorRequest{ConnectorName: "site", Source: &ragdv1.UpdateConnectorRequest_Postgres{Postgres: other}}); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the other slot", func() bool { return slots(t, pool, `slot_name = 'another' AND active`) == 1 })
	if n := slots(t, pool, "true"); n != 1 {
		t.Errorf("%d slots", n)
	}
}

// One instance at a time receives changes. When it is gone, another one does.
func TestAnotherInstanceFollowsATable(t *testing.T) {
	t.Parallel()
	pool, address := newLogicalDatabase(t, articles, publication, `SELECT pg_create_logical_replication_slot('ragd_articles', 'pgoutput')`)
	keys, err := seal.Parse(strings.Repeat("1", 2*seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	s := newSecretService(t, "127.0.0.1")
	acme := newTenant(t, s, "acme")
	setSecret(t, acme, "db", address)
	req := replicated(`SELECT id, updated_at, text FROM public.articles`)
	req.GetPostgres().Replication.CreateSlot = false
	create(t, acme, req)
	awaitFollowed(t, pool)
	first := followerOf(t, s)
	servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.1"}, MasterKeys: keys, AdminPool: s.Pool})

	if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.connectors SET follower = 'dead', followed_until = now() - interval '1 second'`); err != nil {
		t.Fatal(err)
	}
	change(t, pool, `INSERT INTO public.articles VALUES (1, now(), 'This is an article', 'red')`)
	wait.For(t, "another connection", func() bool { now := followerOf(t, s); return now != "" && now != "dead" })
	awaitRows(t, acme, "1 v1")
	t.Logf("%s, then %s", first, followerOf(t, s))
	// A slot that somebody else has made stays.
	gone, err := acme.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site"})
	if n := slots(t, pool, "true"); err != nil || gone.KeptSlot != "" || n != 1 {
		t.Errorf("%v %v, %d slots are left", gone, err, n)
	}
}

// An instance that has lost its claim, and does not know it yet, stores nothing over what another one has stored.
func TestALateFollowerStoresNothing(t *testing.T) {
	t.Parallel()
	for what, statement := range map[string]string{
		"update": `UPDATE public.articles SET text = 'This is new' WHERE id = 1`, "deletion": `DELETE FROM public.articles WHERE id = 2`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			pool, address := newLogicalDatabase(t, articles, publication, `INSERT INTO public.articles SELECT i, now(), 'This is article ' || i, 'red' FROM generate_series(1, 2) AS i`)
			const never = 1e4 // does the service renew its claim while the test runs
			s := servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.1"}, MasterKeys: servicetest.Keys(t), ConnectorWaitFactor: never})
			acme := newTenant(t, s, "acme")
			setSecret(t, acme, "db", address)
			create(t, acme, replicated(`SELECT id, updated_at, text FROM public.articles`))
			awaitFollowed(t, pool)
			change(t, s.Pool, `UPDATE ragd_shared.connectors SET follower = 'another', followed_until = now() + interval '1 hour'`)
			change(t, pool, statement)
			wait.For(t, "the end of the connection", func() bool { return slots(t, pool, "active") == 0 })
			equal(t, "documents", documentsUnder(t, acme, "postgres://site/"), []string{"1 v1", "2 v1"})
		})
	}
}

// What stands against following a table is said by the first run, with what to do.
func TestATableThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	pool, address := newLogicalDatabase(t, articles, publication, `CREATE TABLE public.others (id bigint PRIMARY KEY, name text NOT NULL UNIQUE)`, `CREATE VIEW public.seen AS SELECT * FROM public.articles`)
	acme := newTenant(t, newSecretService(t, "127.0.0.1"), "acme")
	setSecret(t, acme, "db", address)
	const query = `SELECT id, updated_at, text FROM public.articles`
	check := func(query, reason string, change func(*ragdv1.PostgresReplication)) {
		t.Helper()
		req := replicated(query)
		change(req.GetPostgres().Replication)
		if got := create(t, acme, req); got.Status != "failed" || !strings.Contains(got.Error, reason) {
			t.Errorf("%s: %v", reason, got)
		}
		wait.For(t, "a further try", func() bool { return connectorOf(t, acme).NextRunTime != nil })
		if tested, err := acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"}); !strings.Contains(reason, "slot") && (err == nil || !strings.Contains(err.Error(), reason)) {
			t.Errorf("%s: test: %v %v", reason, tested, err)
		}
		if _, err := acme.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site"}); err != nil {
			t.Fatal(err)
		}
	}
	check(query, "no publication \"none\"", func(r *ragdv1.PostgresReplication) { r.Publication = "none" })
	check(query, "no slot \"ragd_articles\"", func(r *ragdv1.PostgresReplication) { r.CreateSlot = false })
	check(`SELECT id + 1 AS id, updated_at, text FROM public.articles`, "must be a column of a table", func(*ragdv1.PostgresReplication) {})
	check(`SELECT id, now() AS updated_at, 'a' AS text FROM public.others`, `does not publish the table "public"."others"`, func(*ragdv1.PostgresReplication) {})
	check(`SELECT id, updated_at, text FROM public.seen`, `does not publish the table "public"."seen"`, func(*ragdv1.PostgresReplication) {})
	if n := slots(t, pool, "true"); n != 0 {
		t.Errorf("%d slots are left", n)
	}
	// Deletions of a table whose identity lacks the id are not known, not even after it was changed meanwhile.
	change(t, pool, `ALTER TABLE public.others REPLICA IDENTITY USING INDEX others_name_key`)
	change(t, pool, `ALTER PUBLICATION articles ADD TABLE public.others`)
	const others = `SELECT id, now() AS updated_at, name AS text FROM public.others`
	check(others, "REPLICA IDENTITY", func(*ragdv1.PostgresReplication) {})
	change(t, pool, `ALTER TABLE public.others REPLICA IDENTITY DEFAULT`)
	create(t, acme, replicated(others))
	awaitFollowed(t, pool)
	change(t, pool, `INSERT INTO public.others VALUES (1, 'one')`)
	awaitRows(t, acme, "1 v1")
	change(t, pool, `ALTER TABLE public.others REPLICA IDENTITY USING INDEX others_name_key`)
	change(t, pool, `UPDATE public.others SET name = 'two'`)
	awaitError(t, acme, "REPLICA IDENTITY")
	change(t, pool, `ALTER TABLE public.others REPLICA IDENTITY DEFAULT`)
	if got := resync(t, acme); got.Status != "succeeded" || got.Counts.Updated != 1 {
		t.Errorf("after the identity was changed back: %v", got)
	}
	change(t, pool, `DELETE FROM public.others`)
	awaitRows(t, acme)

	for field, change := range map[string]func(*ragdv1.PostgresSource){
		"postgres.replication.publication": func(p *ragdv1.PostgresSource) { p.Replication.Publication = "a'b" },
		"postgres.replication.slot":        func(p *ragdv1.PostgresSource) { p.Replication.Slot = "A" },
		"postgres.relistHours":             func(p *ragdv1.PostgresSource) { p.RelistHours = 24 },
	} {
		req := replicated(query)
		change(req.GetPostgres())
		if _, err := acme.CreateConnector(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A server whose log has no changes is refused, and so is one that cannot be asked while its connector is deleted.
func TestADatabaseWithoutChangesIsRefused(t *testing.T) {
	t.Parallel()
	_, address := newDatabase(t, articles, `CREATE PUBLICATION articles FOR TABLE public.articles`)
	acme := newTenant(t, newSecretService(t, "127.0.0.1"), "acme")
	setSecret(t, acme, "db", address)
	if got := create(t, acme, replicated(`SELECT id, updated_at, text FROM public.articles`)); got.Status != "failed" || !strings.Contains(got.Error, "wal_level = logical") {
		t.Errorf("got %v", got)
	}
	logical, other := newLogicalDatabase(t, articles, publication)
	setSecret(t, acme, "db", other)
	if got := resync(t, acme); got.Status != "succeeded" {
		t.Fatalf("got %v", got)
	}
	setSecret(t, acme, "db", address) // which has another server, without the slot
	if n := slots(t, logical, "true"); n != 1 {
		t.Errorf("%d slots", n)
	}
	setSecret(t, acme, "db", "postgres://u:pass-word-2@127.0.0.1:1/name")
	gone, err := acme.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site"})
	if err != nil || gone.KeptSlot != "ragd_articles" {
		t.Errorf("deleted: %v %v", gone, err)
	}
}
