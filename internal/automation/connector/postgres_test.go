package connector_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// newDatabase makes a database with statements, and returns its address on a port of this machine.
func newDatabase(t *testing.T, statements ...string) (*pgxpool.Pool, string) {
	t.Helper()
	return servedDatabase(t, pgtest.Pool(t), statements...)
}

// servedDatabase runs statements in a database, and returns its address on a port of this machine.
func servedDatabase(t *testing.T, pool *pgxpool.Pool, statements ...string) (*pgxpool.Pool, string) {
	t.Helper()
	for _, one := range statements {
		change(t, pool, one)
	}
	to := pool.Config().ConnConfig
	network, address := "tcp", net.JoinHostPort(to.Host, fmt.Sprint(to.Port))
	if strings.HasPrefix(to.Host, "/") {
		network, address = "unix", filepath.Join(to.Host, fmt.Sprintf(".s.PGSQL.%d", to.Port))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			into, err := net.Dial(network, address)
			if err != nil {
				_ = from.Close()
				continue
			}
			go func() { _, _ = io.Copy(into, from); _ = into.Close() }()
			go func() { _, _ = io.Copy(from, into); _ = from.Close() }()
		}
	}()
	password := to.Password
	if password == "" {
		password = "pass-word-1"
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(to.User, password), Host: listener.Addr().String(), Path: "/" + to.Database, RawQuery: "sslmode=disable"}
	return pool, u.String()
}

func change(t *testing.T, pool *pgxpool.Pool, statement string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func setSecret(t *testing.T, c servicetest.Client, name, value string, hosts ...string) {
	t.Helper()
	if _, err := c.SetSecret(t.Context(), &ragdv1.SetSecretRequest{SecretName: name, Value: value, Hosts: &ragdv1.SecretHosts{Hosts: hosts}}); err != nil {
		t.Fatal(err)
	}
}

func rows(query string) *ragdv1.CreateConnectorRequest {
	return &ragdv1.CreateConnectorRequest{ConnectorName: "site", Source: &ragdv1.CreateConnectorRequest_Postgres{Postgres: &ragdv1.PostgresSource{SecretName: "db", Query: query}}}
}

const articles = `CREATE TABLE public.articles (id bigint PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now(), text text, team text)`

func TestADatabaseIsFollowed(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"numbers": "id", "texts": `'a "' || lpad(id::text, 5, '0') || '\'`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, address := newDatabase(t, articles, `INSERT INTO public.articles SELECT i, now(), 'This is article ' || i, 'red' FROM generate_series(1, 620) AS i`,
				`UPDATE public.articles SET text = ' ' WHERE id = 7`, `UPDATE public.articles SET text = repeat('a', 17 * 1024 * 1024) WHERE id = 8`)
			s := newSecretService(t, "127.0.0.1")
			acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
			setSecret(t, acme, "db", address)
			req := rows(`SELECT ` + id + ` AS id, updated_at, text, team FROM public.articles -- all of them`)
			req.Metadata = map[string]string{"team": "item.attributes.team", "at": "item.modifiedTime"}
			got := create(t, acme, req)
			if n := got.Counts; got.Status != "succeeded" || n.Added != 618 || n.Skipped != 1 || n.Failed != 1 {
				t.Fatalf("first run: %v", got)
			}
			list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", PageSize: 1})
			if err != nil {
				t.Fatal(err)
			}
			if d := list.Documents[0]; !strings.HasPrefix(d.Uri, "postgres://site/") || d.Metadata.AsMap()["team"] != "red" || !strings.HasPrefix(fmt.Sprint(d.Metadata.AsMap()["at"]), "20") {
				t.Errorf("document: %v", d)
			}
			equal(t, "documents of another tenant", documentsUnder(t, bolt, ""), []string{})
			if shown := fmt.Sprint(got); strings.Contains(shown, "pass") {
				t.Errorf("the password is shown: %s", shown)
			}

			// Nothing has changed: a page of ids is read, and no text.
			before := jobs(t, acme)
			if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Unchanged != 618 || got.Counts.Requests != 1 || got.Counts.Bytes > 620*50 {
				t.Errorf("second run: %v", got)
			}
			if n := jobs(t, acme); n != before {
				t.Errorf("%d jobs after %d", n, before)
			}

			change(t, pool, `UPDATE public.articles SET text = 'This is the new article', updated_at = clock_timestamp() WHERE id = 600`)
			change(t, pool, `DELETE FROM public.articles WHERE id = 3`)
			change(t, pool, `INSERT INTO public.articles VALUES (1000, now(), 'This is another article', 'blue')`)
			if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Updated != 1 || got.Counts.Deleted != 1 || got.Counts.Added != 1 || got.Counts.Unchanged != 616 {
				t.Errorf("third run: %v", got)
			}
			change(t, pool, `DELETE FROM public.articles WHERE id > 100`)
			if got = resync(t, acme); !got.Paused || got.Counts.Deleted != 0 {
				t.Errorf("fourth run: %v", got)
			}
			if tested, err := acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"}); err != nil || len(tested.Items) != 20 || tested.Complete {
				t.Errorf("test: %v %v", tested, err)
			}
		})
	}
}

// What a query does wrong fails its connector with a reason, and changes nothing in the database.
func TestAHostileQueryFailsItsConnectorAlone(t *testing.T) {
	t.Parallel()
	pool, address := newDatabase(t, articles, `INSERT INTO public.articles SELECT i, now(), 'This is article ' || i, 'red' FROM generate_series(1, 5) AS i`,
		`CREATE FUNCTION public.remove() RETURNS bigint LANGUAGE sql AS 'DELETE FROM public.articles RETURNING id'`)
	acme := newTenant(t, newSecretService(t, "127.0.0.1"), "acme")
	setSecret(t, acme, "db", address)
	for query, reason := range map[string]string{
		`SELECT 1 AS id, now() AS updated_at, 'a' AS text FROM generate_series(1, 3)`:                   "more than one row with the id",
		`SELECT i AS id, now() AS updated_at, 'a' AS text FROM generate_series(1, 1000000) AS i`:        "more than 20 rows",
		`SELECT repeat('x', 100000) AS id, now() AS updated_at, 'a' AS text`:                            "a row of more than 65536 bytes",
		`SELECT public.remove() AS id, now() AS updated_at, 'a' AS text`:                                "read-only transaction",
		`SELECT 1 AS id, now() AS updated_at, 'a' AS text) AS q; DROP TABLE public.articles; SELECT (1`: "SQLSTATE",
		`DELETE FROM public.articles RETURNING id, updated_at, text`:                                    "SQLSTATE",
		`SELECT id, text FROM public.articles`:                                                          "updated_at",
		`SELECT id, updated_at, text FROM public.none`:                                                  "does not exist",
	} {
		req := rows(query)
		req.MaxItems = 20
		if got := create(t, acme, req); got.Status != "failed" || !strings.Contains(got.Error, reason) || strings.Contains(got.Error, "internal error") {
			t.Errorf("%s: %v", query, got)
		}
		if _, err := acme.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site"}); err != nil {
			t.Fatal(err)
		}
	}
	var count int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM public.articles`).Scan(&count); err != nil || count != 5 {
		t.Errorf("%d articles are left, %v", count, err)
	}
}

func TestTheAddressOfADatabaseIsGuarded(t *testing.T) {
	t.Parallel()
	_, address := newDatabase(t, articles)
	acme := newTenant(t, newSecretService(t, "localhost"), "acme")
	query := `SELECT id, updated_at, text FROM public.articles`
	for value, code := range map[string]connect.Code{
		address: connect.CodeFailedPrecondition, // inside the network of the service
		"postgres:///name?host=/var/run/postgresql":              connect.CodeFailedPrecondition,
		"postgres://u:pass-word-2@%2Fvar%2Frun/name":             connect.CodeFailedPrecondition,
		"postgres://u:pass-word-2@db.example.com/name?sslkey=/k": connect.CodeFailedPrecondition,
		"postgres://u:pass-word-2@db.example.com/name?sslmode=x": connect.CodeFailedPrecondition,
		"postgres://u:pass-word-2@a.example.com,b/name":          connect.CodeFailedPrecondition,
		"https://u:pass-word-2@db.example.com/name":              connect.CodeFailedPrecondition,
		"host=/tmp password=pass-word-2":                         connect.CodeFailedPrecondition,
	} {
		setSecret(t, acme, "db", value)
		_, err := acme.CreateConnector(t.Context(), rows(query))
		if connect.CodeOf(err) != code || strings.Contains(err.Error(), "pass-word") {
			t.Errorf("%s: %v", value, err)
		}
	}
	setSecret(t, acme, "db", "postgres://u:pass-word-2@db.example.com/name", "other.example.com")
	if _, err := acme.CreateConnector(t.Context(), rows(query)); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("another host: %v", err)
	}
	// A name is looked up when a run begins; this one is allowed, without the encryption that the server has not.
	setSecret(t, acme, "db", strings.Replace(strings.Replace(address, "127.0.0.1", "localhost", 1), "sslmode=disable", "sslmode=require", 1))
	if got := create(t, acme, rows(query)); got.Status != "failed" || strings.Contains(got.Error, "pass-word") {
		t.Errorf("without encryption: %v", got)
	}
	for field, change := range map[string]func(*ragdv1.PostgresSource){
		"postgres.secretName":  func(p *ragdv1.PostgresSource) { p.SecretName = "" },
		"postgres.query":       func(p *ragdv1.PostgresSource) { p.Query = " " },
		"postgres.idColumn":    func(p *ragdv1.PostgresSource) { p.IdColumn = strings.Repeat("a", 64) },
		"postgres.contentType": func(p *ragdv1.PostgresSource) { p.ContentType = "application/pdf" },
		"postgres.relistHours": func(p *ragdv1.PostgresSource) { p.RelistHours = 8761 },
	} {
		req := rows(query)
		change(req.GetPostgres())
		if _, err := acme.CreateConnector(context.Background(), req); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A run that is interrupted goes on after the last page that it has stored.
func TestAnInterruptedRunGoesOn(t *testing.T) {
	t.Parallel()
	pool, address := newDatabase(t, articles, `INSERT INTO public.articles SELECT i, now(), 'This is article ' || i, 'red' FROM generate_series(1, 2300) AS i`)
	s := newSecretService(t, "127.0.0.1")
	acme := newTenant(t, s, "acme")
	setSecret(t, acme, "db", address)
	change(t, s.Pool, `CREATE FUNCTION public.interrupt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'interrupted'; END $$`)
	change(t, s.Pool, `CREATE TRIGGER interrupt BEFORE INSERT ON ragd_shared.connector_items FOR EACH ROW WHEN (NEW.item_id = 'postgres://site/1500') EXECUTE FUNCTION public.interrupt()`)
	req := rows(`SELECT id, updated_at, text FROM public.articles`)
	req.IndexName, req.MaxItems = "docs", 3000
	if _, err := acme.CreateConnector(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the first page", func() bool {
		got, err := acme.GetConnector(t.Context(), &ragdv1.GetConnectorRequest{ConnectorName: "site"})
		return err == nil && got.Counts.Seen >= 1000
	})
	// Were these rows listed again, their documents would be gone.
	change(t, pool, `DELETE FROM public.articles WHERE id <= 900`)
	change(t, s.Pool, `DROP TRIGGER interrupt ON ragd_shared.connector_items`)
	got := resync(t, acme)
	first := got.Runs[len(got.Runs)-1]
	if n := first.Counts; first.Status != "succeeded" || n.Seen != 2300 || n.Added+n.Unchanged != 2300 || n.Deleted != 0 {
		t.Errorf("the run that was interrupted: %v", first)
	}
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Deleted+first.Counts.Deleted+got.Runs[1].Counts.Deleted != 900 || got.Counts.Unchanged != 1400 {
		t.Errorf("the next run: %v", got)
	}
}

// With relistHours a run asks for what has changed, whatever the type of the column is.
func TestARunAsksForWhatHasChanged(t *testing.T) {
	t.Parallel()
	for name, updated := range map[string]string{"times": "updated_at", "numbers": "version"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, address := newDatabase(t, `CREATE TABLE public.articles (id bigint PRIMARY KEY, updated_at timestamptz, version bigint, text text)`,
				`INSERT INTO public.articles SELECT i, now() - i * interval '1 hour', 1000 - i, 'This is article ' || i FROM generate_series(1, 600) AS i`)
			s := newSecretService(t, "127.0.0.1")
			acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
			setSecret(t, acme, "db", address)
			// The uri of one row is taken: this item fails, and the others of its batch are stored. What another tenant has
			// does not matter.
			acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "postgres://site/7", Source: servicetest.Text("This was uploaded.")})
			bolt.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "postgres://site/8", Source: servicetest.Text("This was uploaded.")})
			req := rows(`SELECT id, updated_at, version, text FROM public.articles`)
			req.GetPostgres().UpdatedColumn, req.GetPostgres().RelistHours = updated, 24
			got := create(t, acme, req)
			if n := got.Counts; got.Status != "succeeded" || n.Added != 599 || n.Failed != 1 || n.Seen != 600 {
				t.Fatalf("first run: %v", got)
			}
			change(t, pool, `UPDATE public.articles SET text = 'This is new', updated_at = now(), version = 10000 WHERE id = 500`)
			change(t, pool, `INSERT INTO public.articles VALUES (1000, now(), 10001, 'This is another article')`)
			change(t, pool, `DELETE FROM public.articles WHERE id = 3`)
			if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Seen != 3 || got.Counts.Updated != 1 || got.Counts.Added != 1 || got.Counts.Unchanged != 1 || got.Counts.Deleted != 0 {
				t.Errorf("second run: %v", got)
			}
			// What changed last may have been followed by a transaction that ends later: it is listed again.
			if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Unchanged != got.Counts.Seen || got.Counts.Seen < 1 || got.Counts.Seen > 2 || got.Counts.Deleted != 0 {
				t.Errorf("third run: %v", got)
			}
			if _, err := acme.UpdateConnector(t.Context(), &ragdv1.UpdateConnectorRequest{ConnectorName: "site", Description: new("All is listed again.")}); err != nil {
				t.Fatal(err)
			}
			if got = ended(t, acme, got); got.Status != "succeeded" || got.Counts.Deleted != 1 || got.Counts.Seen != 600 {
				t.Errorf("last run: %v", got)
			}
		})
	}
}
