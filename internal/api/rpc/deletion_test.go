package rpc_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// emptyTables are the tables with rows of tenants in which a tenant of the test has none.
var emptyTables = []string{
	"ragd.backlog",                  // everything is processed
	"ragd.imports",                  // while the tenant is being imported
	"ragd.sleeps",                   // of tenants that are or were asleep, whose deletion package sleep tests
	"ragd_shared.stopped_tenants",   // while the tenant is moved and accepts no writes
	"ragd.event_tenants",            // only with an enabled hook or a watcher, as are the next three
	"ragd_shared.event_watchers",    // while somebody watches
	"ragd_shared.events",            // only if somebody wants them
	"ragd_shared.hook_deliveries",   // only of enabled hooks
	"ragd.issuers",                  // need an authorization server with https
	"ragd_shared.notable_questions", // only of what found nothing, took long or failed
	"ragd_shared.asked_questions",   // of indexes whose search widths are measured
	"ragd_shared.watched_indexes",   // that are counted repeatedly, as is the next
	"ragd_shared.chunk_changes",
}

// tenantTables returns how many rows a tenant has in each table with rows of all tenants.
func tenantTables(t *testing.T, s *servicetest.Service, tenant string) map[string]int {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), `
		SELECT n.nspname || '.' || c.relname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE a.attname = 'tenant_id' AND NOT a.attisdropped AND c.relkind = 'r' AND n.nspname IN ('ragd', 'ragd_shared')`)
	noError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	noError(t, err)
	counts := map[string]int{}
	for _, name := range names {
		var n int
		noError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM `+name+` WHERE tenant_id = $1`, tenant).Scan(&n))
		counts[name] = n
	}
	return counts
}

// searchDatabase returns the tables of the whole database, also of its catalogs, with a word in a row, as
// text or in bytes, and how many rows have it.
func searchDatabase(t *testing.T, s *servicetest.Service, word string) map[string]int {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), `
		SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'm') AND n.nspname NOT LIKE 'pg\_toast%' AND n.nspname NOT LIKE 'pg\_temp%'`)
	noError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	noError(t, err)
	if len(names) < 100 {
		t.Fatalf("only %d tables were searched", len(names))
	}
	found := map[string]int{}
	for _, name := range names {
		var n int
		query := fmt.Sprintf(`SELECT count(*) FROM %s AS r WHERE strpos(lower(r::text), $1) > 0 OR strpos(lower(r::text), $2) > 0`, name)
		noError(t, s.Pool.QueryRow(t.Context(), query, word, hex.EncodeToString([]byte(word))).Scan(&n))
		if n > 0 {
			found[name] = n
		}
	}
	return found
}

// followPage gives a tenant a connector that has run, and knows a page without a document.
func followPage(t *testing.T, c servicetest.Client, word string) {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("X-Robots-Tag", "noindex")
	}))
	defer site.Close()
	_, err := c.CreateConnector(t.Context(), &ragdv1.CreateConnectorRequest{ConnectorName: "page", IndexName: "docs", Source: &ragdv1.CreateConnectorRequest_Web{Web: &ragdv1.WebSource{Url: site.URL + "/" + word}}})
	noError(t, err)
	wait.For(t, "the run of the connector", func() bool {
		now, err := c.GetConnector(t.Context(), &ragdv1.GetConnectorRequest{ConnectorName: "page"})
		noError(t, err)
		return now.Status == "succeeded"
	})
}

// A tenant that has something of everything is deleted. The whole database, with its catalogs and
// statistics, has no trace of it but the entries of the audit log, and the answer says so; another
// tenant with the same of everything has lost nothing.
func TestADeletedTenantIsGoneFromTheWholeDatabase(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{
		DeletedRetention: time.Hour, AllowedPrivateNetworks: thisMachine, MasterKeys: masterKeys(t, "1"), Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}},
	})
	const name, word = "quincey", "apricot"
	_, secret := world(t, s, name, word)
	_, other := world(t, s, "bolt", "kumquat")
	for key, word := range map[string]string{secret: word, other: "kumquat"} {
		store := compatible(t, s, key, "/v1/vector_stores", "application/json", strings.NewReader(`{"name": "`+word+`"}`))
		file := uploadFile(t, s, key, word)
		compatible(t, s, key, "/v1/vector_stores/"+store+"/file_batches", "application/json", strings.NewReader(`{"file_ids": ["`+file+`"]}`))
		followPage(t, s.Client(key), word)
		kept := s.Client(key).Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "kept-" + word, Source: servicetest.Text("What was deleted of " + word)})
		_, err := s.Client(key).DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", DocumentId: kept.DocumentId})
		noError(t, err)
	}
	if _, err := s.Pool.Exec(t.Context(), `
		INSERT INTO ragd_shared.connector_tokens (tenant_id, connector_name, token) VALUES ($1, 'page', convert_to($2, 'UTF8')), ('bolt', 'page', 'kumquat')`, name, word); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pool.Exec(t.Context(), `
		WITH made AS (
			INSERT INTO ragd_shared.mcp_sessions (tenant_id, session_hash, owner_hash, client, subscriptions, notifier)
			SELECT tenant_id, sha256(tenant_id::bytea), '', '{}', ARRAY[word], '' FROM (VALUES ($1, $2), ('bolt', 'kumquat')) AS v (tenant_id, word)
			RETURNING tenant_id, session_hash, subscriptions
		)
		INSERT INTO ragd_shared.mcp_messages (tenant_id, session_hash, addressee, kind, stream, number, body)
		SELECT tenant_id, session_hash, '', 'deliver', '', 0, convert_to(subscriptions[1], 'UTF8') FROM made`, name, word); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pool.Exec(t.Context(), `
		INSERT INTO ragd_shared.tool_tasks (tenant_id, task_id, owner_hash, tool_name, status, message, outcome)
		SELECT tenant_id, gen_random_uuid(), '', word, 'completed', word, to_json(word) FROM (VALUES ($1, $2), ('bolt', 'kumquat')) AS v (tenant_id, word)`, name, word); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pool.Exec(t.Context(), `
		WITH moves AS (
			INSERT INTO ragd.moves (move_id, tenant_id, from_database, to_database, phase, error)
			SELECT gen_random_uuid(), tenant_id, '', 'east', 'done', word FROM (VALUES ($1, $2), ('bolt', 'kumquat')) AS v (tenant_id, word)
		)
		INSERT INTO ragd.moved_work (tenant_id, relation, content)
		SELECT tenant_id, 'backlog', to_jsonb(word) FROM (VALUES ($1, $2), ('bolt', 'kumquat')) AS v (tenant_id, word)`, name, word); err != nil {
		t.Fatal(err)
	}
	planOf(t, s, "starter", nil)
	for _, id := range []string{name, "bolt"} {
		havePlan(t, s, id, "starter")
	}
	if _, err := s.Pool.Exec(t.Context(), `
		INSERT INTO ragd_shared.quota_warnings (tenant_id, quota, period, quota_limit)
		SELECT tenant_id, 'maxDocuments', word, 1 FROM (VALUES ($1, $2), ('bolt', 'kumquat')) AS v (tenant_id, word)`, name, word); err != nil {
		t.Fatal(err)
	}
	for key, word := range map[string]string{secret: word, other: "kumquat"} {
		res, err := s.Client(key).VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "where is " + word})
		noError(t, err)
		_, err = s.Client(key, idempotencyKey, word).RecordFeedback(t.Context(), &ragdv1.RecordFeedbackRequest{QueryId: res.QueryId, Source: res.Sources[0].Id, Helpful: new(true)})
		noError(t, err)
	}
	for table, n := range tenantTables(t, s, name) {
		if n == 0 && !slices.Contains(emptyTables, table) {
			t.Errorf("the tenant has no row in %s, so that the test shows nothing about it: add one", table)
		}
	}
	if _, err := s.Pool.Exec(t.Context(), `ANALYZE`); err != nil { // the statistics have samples of all rows
		t.Fatal(err)
	}
	if found := searchDatabase(t, s, word); len(found) < 10 {
		t.Fatalf("before the deletion the word is in %v", found)
	}
	before := s.RowSums(t, "bolt")

	done, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: name, Erase: true})
	if err != nil {
		t.Fatal(err)
	}
	deleted := map[string]float64{}
	for _, r := range done.Deleted {
		deleted[r.Kind] = r.Count
	}
	// One index and one chunk are those of a memory.
	for kind, want := range map[string]float64{"indexes": 3, "documents": 3, "chunks": 4, "api keys": 2, "agents": 1, "workflows": 1, "secrets": 1, "files": 1, "question sets": 2} {
		if deleted[kind] != want {
			t.Errorf("%g %s were deleted, want %g", deleted[kind], kind, want)
		}
	}
	if len(done.Kept) != 1 || done.Kept[0].Kind != "audit log entries" || done.Kept[0].Reason == "" || done.DeletedBytes < 100_000 {
		t.Errorf("kept %v, deleted %g bytes", done.Kept, done.DeletedBytes)
	}
	for what, word := range map[string]string{"a word": word, "the name": name} {
		found := searchDatabase(t, s, word)
		delete(found, "ragd.audit_log")
		var samples int // but those of the log, and of names of schemas and roles in the catalogs
		noError(t, s.Pool.QueryRow(t.Context(), `
			SELECT count(*) FROM pg_statistic AS r WHERE strpos(lower(r::text), $1) > 0
				AND NOT (starelid = 'ragd.audit_log'::regclass OR $2 AND starelid IN ('pg_namespace'::regclass, 'pg_authid'::regclass))`, word, word == name).Scan(&samples))
		if samples == 0 {
			delete(found, "pg_catalog.pg_statistic")
		}
		if len(found) > 0 {
			t.Errorf("%s of the tenant is still in %v", what, found)
		}
	}
	after := s.RowSums(t, "bolt")
	for table, sum := range before {
		if after[table] != sum {
			t.Errorf("rows of another tenant in %s: %s before, %s after", table, sum, after[table])
		}
	}
}

// uploadFile stores a file over the OpenAI-compatible interface and returns its id.
func uploadFile(t *testing.T, s *servicetest.Service, secret, word string) string {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	noError(t, form.WriteField("purpose", "assistants"))
	file, err := form.CreateFormFile("file", word+".txt")
	noError(t, err)
	_, err = file.Write([]byte("The file of " + word))
	noError(t, err)
	noError(t, form.Close())
	return compatible(t, s, secret, "/v1/files", form.FormDataContentType(), &body)
}

// compatible posts to the OpenAI-compatible interface and returns the id in the answer.
func compatible(t *testing.T, s *servicetest.Service, secret, path, contentType string, body io.Reader) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, body)
	noError(t, err)
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", contentType)
	res, err := http.DefaultClient.Do(req)
	noError(t, err)
	defer func() { _ = res.Body.Close() }()
	var made struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || res.StatusCode != http.StatusOK || made.ID == "" {
		t.Fatalf("%s: %s, %v", path, res.Status, err)
	}
	return made.ID
}
