package service_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access/oauth"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/migrations"
)

// release makes TestMakeRelease write the database of this checkout to releasesDir under this
// name, and what the API answers from it. `make release-database` does so.
var release = flag.String("release", "", "write the database of this checkout as that of this release")

// releasesDir has for each release a dump of a small database with data of all nouns, and for
// a few calls what the API answered from it.
const releasesDir = "testdata/releases"

// ofRelease is the tenant of the databases. Its name is part of that of a role, which belongs to
// the whole server, so no other test may use it.
const ofRelease = "release-check"

// releaseKey encrypts the secrets of the databases.
const releaseKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// answered is a call and what it answered in the release.
type answered struct {
	Path   string `json:"path"`
	Body   any    `json:"body,omitempty"`
	Answer any    `json:"answer"`
}

// snapshotOf is the file of a release beside its dump.
type snapshotOf struct {
	// Migrations are the checksums of the files that made the schemas.
	Migrations map[string]string `json:"migrations"`
	Answers    []answered        `json:"answers"`
}

// migrationSums returns the checksums of all migrations.
func migrationSums(t *testing.T) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for name, files := range map[string]fs.FS{"control": migrations.Control(), "shared": migrations.Shared(), "tenant": migrations.Tenant()} {
		paths, err := fs.Glob(files, "*.up.sql")
		must(t, err)
		for _, path := range paths {
			text, err := fs.ReadFile(files, path)
			must(t, err)
			sum := sha256.Sum256(text)
			sums[name+"/"+path] = hex.EncodeToString(sum[:])
		}
	}
	return sums
}

// caller makes calls of the API in JSON, as the operator for the tenant of the databases.
type caller struct {
	t   *testing.T
	url string
}

// call calls a method such as IndexService/ListIndexes, or posts to a path such as /v1/files, and
// returns the answer.
func (c caller) call(path string, body any) map[string]any {
	c.t.Helper()
	text, err := json.Marshal(body)
	must(c.t, err)
	return c.send(http.MethodPost, path, "application/json", text)
}

func (c caller) send(method, path, contentType string, body []byte) (answer object) {
	c.t.Helper()
	if !strings.HasPrefix(path, "/") {
		path = "/ragd.v1." + path
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, bytes.NewReader(body))
	must(c.t, err)
	req.Header = http.Header{"Authorization": {"Bearer " + servicetest.OperatorKey}, "Content-Type": {contentType}}
	if !strings.HasSuffix(path, "/CreateTenant") {
		req.Header.Set("Ragd-Tenant", ofRelease)
	}
	res, err := http.DefaultClient.Do(req)
	must(c.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	must(c.t, err)
	if err := json.Unmarshal(raw, &answer); err != nil || res.StatusCode != http.StatusOK {
		c.t.Fatalf("%s %s: %s: %s", path, body, res.Status, raw)
	}
	return answer
}

// get reads a path.
func (c caller) get(path string) object {
	c.t.Helper()
	return c.send(http.MethodGet, path, "application/json", nil)
}

// upload makes a file of the interface that is compatible with OpenAI's, and returns its id.
func (c caller) upload(name, content string) string {
	c.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	must(c.t, w.WriteField("purpose", "assistants"))
	part, err := w.CreateFormFile("file", name)
	must(c.t, err)
	_, err = io.WriteString(part, content)
	must(c.t, errors.Join(err, w.Close()))
	return c.send(http.MethodPost, "/v1/files", w.FormDataContentType(), form.Bytes())["id"].(string)
}

type object = map[string]any

// fill makes data of all nouns.
func (c caller) fill(models string) {
	c.call("TenantService/CreateTenant", object{"tenantId": ofRelease, "displayName": "Of a release", "settings": object{"maxIndexes": 7}})
	c.call("PlanService/CreatePlan", object{"planName": "starter", "settings": object{"maxDocuments": 1000}, "features": object{"models": []string{"*"}}})
	c.call("TenantService/UpdateTenant", object{"tenantId": ofRelease, "planName": "starter"})
	c.call("TenantService/CreateApiKey", object{"tenantId": ofRelease, "displayName": "reader", "scopes": []string{"read"}, "mandatoryFilter": object{"team": "a"}})
	c.call("SecretService/SetSecret", object{"secretName": "token", "value": "hidden", "hosts": object{"hosts": []string{"api.example.com"}}})
	c.call("EndpointService/CreateEndpoint", object{"endpointName": "own", "kind": "openai-compatible", "baseUrl": models + "/v1", "apiKey": modelserver.Key, "models": []object{{"model": "small", "dimension": 8}}})
	c.call("ContextService/DeclareContextKey", object{"key": object{"name": "tier", "description": "Of the caller.", "schema": object{"type": "string"}}})
	c.call("HookService/CreateHook", object{"hookName": "changes", "url": models + "/in", "events": []string{"document.*", "index.*"}, "headers": object{"X-From": "ragd"}})
	c.call("IssuerService/CreateIssuer", object{"issuerName": "own", "url": "https://id.example.com", "audiences": []string{"api://ragd"}, "jwksUrl": "https://id.example.com/keys"})
	c.call("IndexService/CreateIndex", object{"indexName": "docs", "metadataIndexes": []string{"team"}})
	c.call("IndexService/CreateIndex", object{"indexName": "vectors", "dimension": 3, "metric": "euclidean"})
	for i, text := range []string{
		"# Rota\n\nThe rota of the harbour is kept in Ledger Nine.", "# Ledger Nine\n\nLedger Nine lies in the vault of the harbour.",
		"# Tides\n\nAt spring tide the quay is under water for an hour.",
	} {
		c.call("DocumentService/UploadDocument", object{"indexName": "docs", "uri": fmt.Sprintf("page-%d.md", i), "text": text, "metadata": object{"team": "ab"[i%2 : i%2+1], "number": i}})
	}
	c.call("VectorService/Upsert", object{"indexName": "vectors", "entries": []object{{"id": "one", "values": []float32{1, 2, 3}, "document": "a valve", "metadata": object{"n": 1}}, {"id": "two", "values": []float32{3, 2, 1}}}})
	c.awaitJobs()
	store := c.call("/v1/vector_stores", object{"name": "shelf", "file_ids": []string{c.upload("note.txt", "The shelf has a note.")}})["id"].(string)
	c.call("/v1/vector_stores/"+store+"/file_batches", object{"file_ids": []string{c.upload("more.txt", "The shelf has more.")}})
	c.call("TenantService/SetVectorStoreNames", object{"vectorStoreNames": []string{"main"}})
	c.call("ToolService/CreateTool", object{"toolName": "ask_docs", "kind": "vector_query", "description": "Asks.", "settings": object{"indexName": "docs"}})
	c.call("PromptService/CreatePrompt", object{"promptName": "brief", "description": "Sums up.", "arguments": []object{{"name": "topic", "required": true}}, "messages": []object{{"role": "user", "text": "Sum up {{arguments.topic}}."}}})
	c.call("ServerService/CreateServer", object{"serverName": "desk", "title": "Desk", "instructions": "Ask first.", "tools": object{"names": []string{"ask_docs"}}})
	c.call("AgentService/CreateAgent", object{"agentName": "clerk", "definition": object{"description": "Knows the harbour.", "model": "openai/m"}})
	c.call("AgentService/AskAgent", object{"agentName": "clerk", "message": "Where is the rota?", "threadId": "first"})
	c.call("EvaluateService/CreateQuestionSet", object{"setName": "harbour", "indexName": "docs", "questions": []object{{"questionId": "q1", "text": "Where is the rota kept?", "relevant": []object{{"uri": "page-0.md"}}}}})
	c.call("EvaluateService/StartEvaluation", object{"setName": "harbour", "label": "first"})
	c.call("WorkflowService/CreateWorkflow", object{"workflowName": "shape", "definition": object{"description": "Shapes.", "steps": []object{{"id": "a", "kind": "map", "input": object{"said": object{"value": "hello"}}}}}})
	c.call("WorkflowService/StartWorkflow", object{"workflowName": "shape"})
	c.call("QueryService/VectorQuery", object{"indexName": "docs", "queryText": "Where is the rota?"})
	c.followSite()
	c.awaitJobs()
	c.call("HookService/UpdateHook", object{"hookName": "changes", "enabled": false}) // it posts nothing in later tests
}

// followSite makes a connector for a website of one page, and pauses it when it has run.
func (c caller) followSite() {
	c.t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>Harbour</title><p>The harbour has a website.</p>")
	}))
	defer site.Close()
	c.call("IndexService/CreateIndex", object{"indexName": "pages"})
	c.call("ConnectorService/CreateConnector", object{"connectorName": "site", "indexName": "pages", "web": object{"url": site.URL, "delayMs": 0}})
	wait.For(c.t, "the run of the connector", func() bool {
		return c.call("ConnectorService/GetConnector", object{"connectorName": "site"})["status"] == "succeeded"
	})
	c.call("ConnectorService/PauseConnector", object{"connectorName": "site"})
}

// awaitJobs waits until no job is queued or running.
func (c caller) awaitJobs() {
	c.t.Helper()
	wait.For(c.t, "the end of all jobs", func() bool {
		busy := len(c.list("DocumentService/ListJobs", "jobs", object{"status": "queued"})) + len(c.list("DocumentService/ListJobs", "jobs", object{"status": "running"})) +
			len(c.list("WorkflowService/ListRuns", "runs", object{"status": "running"}))
		return busy == 0
	})
}

// list returns the entries of a list of the API.
func (c caller) list(path, field string, body object) (entries []object) {
	c.t.Helper()
	all, _ := c.call(path, body)[field].([]any)
	for _, e := range all {
		entries = append(entries, e.(object))
	}
	return entries
}

// reads returns the calls that read everything that fill made.
func (c caller) reads() (calls []answered) {
	add := func(path string, body object) {
		calls = append(calls, answered{Path: path, Body: body})
	}
	add("TenantService/GetTenant", object{"tenantId": ofRelease})
	add("TenantService/ListApiKeys", object{"tenantId": ofRelease})
	add("TenantService/GetVectorStoreNames", object{})
	add("SecretService/ListSecrets", object{})
	add("EndpointService/GetEndpoint", object{"endpointName": "own"})
	add("ContextService/ListContextKeys", object{})
	add("HookService/GetHook", object{"hookName": "changes"})
	add("ConnectorService/GetConnector", object{"connectorName": "site"})
	add("ConnectorService/ListConnectorItems", object{"connectorName": "site"})
	add("IssuerService/GetIssuer", object{"issuerName": "own"})
	add("IndexService/ListIndexes", object{})
	for _, d := range c.list("DocumentService/ListDocuments", "documents", object{"indexName": "docs"}) {
		add("DocumentService/GetDocument", object{"indexName": "docs", "documentId": d["documentId"]})
		add("DocumentService/ListChunks", object{"indexName": "docs", "documentId": d["documentId"]})
		add("QueryService/ListEdges", object{"indexName": "docs", "documentId": d["documentId"]})
	}
	add("DocumentService/ListDocuments", object{"indexName": "docs", "filter": object{"team": "a"}})
	add("DocumentService/ListJobs", object{})
	for _, mode := range []string{"vector", "keyword", "hybrid"} {
		add("QueryService/VectorQuery", object{"indexName": "docs", "queryText": "Where is the rota kept?", "searchMode": mode})
	}
	add("QueryService/GraphRag", object{"indexName": "docs", "queryText": "Where is the rota kept?"})
	add("VectorService/Query", object{"indexName": "vectors", "queryVector": []int{1, 2, 3}, "includeVector": true})
	add("ToolService/GetTool", object{"toolName": "ask_docs"})
	add("PromptService/GetPromptMessages", object{"promptName": "brief", "arguments": object{"topic": "tides"}})
	add("ServerService/GetServer", object{"serverName": "desk"})
	add("AgentService/GetAgent", object{"agentName": "clerk"})
	for _, thread := range c.list("AgentService/ListThreads", "threads", object{"agentName": "clerk"}) {
		add("AgentService/GetThread", object{"agentName": "clerk", "threadId": thread["threadId"]})
	}
	add("EvaluateService/ListQuestions", object{"setName": "harbour"})
	for _, e := range c.list("EvaluateService/ListEvaluations", "evaluations", object{"setName": "harbour"}) {
		add("EvaluateService/ListEvaluationResults", object{"evaluationId": e["evaluationId"]})
	}
	add("WorkflowService/GetWorkflow", object{"workflowName": "shape"})
	for _, run := range c.list("WorkflowService/ListRuns", "runs", object{"workflowName": "shape"}) {
		add("WorkflowService/GetRun", object{"runId": run["runId"]})
	}
	stores, _ := c.get("/v1/vector_stores")["data"].([]any)
	for _, store := range stores {
		calls = append(calls, answered{Path: "/v1/vector_stores/" + store.(object)["id"].(string) + "/files"})
	}
	calls = append(calls, answered{Path: "/v1/files"}, answered{Path: "/v1/vector_stores"})
	for i, call := range calls {
		calls[i].Answer = c.read(call)
	}
	return calls
}

// read makes a call again: one without a body reads a path.
func (c caller) read(call answered) any {
	c.t.Helper()
	if call.Body == nil {
		return stable(c.get(call.Path))
	}
	return stable(c.call(call.Path, call.Body))
}

// stable removes from an answer what differs between two calls, and between two databases with the
// same content.
func stable(value any) any {
	switch v := value.(type) {
	case object:
		for name, field := range v {
			if name == "nextPageToken" || strings.HasPrefix(name, "fail") || strings.HasSuffix(name, "Ms") || strings.HasSuffix(name, "Bytes") && name != "sizeBytes" || name == "url" {
				delete(v, name)
				continue
			}
			v[name] = stable(field)
		}
	case []any:
		for i, entry := range v {
			v[i] = stable(entry)
		}
	}
	return value
}

// within returns got without the fields that want does not have: a later release may answer more, and describe what a schema has in
// other words.
func within(want, got any) any {
	switch w := want.(type) {
	case object:
		g, ok := got.(object)
		if !ok {
			return got
		}
		kept := object{}
		for name, field := range w {
			value, ok := g[name]
			switch {
			case ok && name == "description" && (w["type"] != nil || w["anyOf"] != nil): // of a schema
				kept[name] = field
			case ok:
				kept[name] = within(field, value)
			}
		}
		return kept
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		kept := make([]any, len(w))
		for i := range w {
			kept[i] = within(w[i], g[i])
		}
		return kept
	}
	return got
}

func releaseConfig(t *testing.T) (service.Config, *modelserver.Server) {
	t.Helper()
	keys, err := seal.Parse(releaseKey)
	must(t, err)
	ai := modelserver.New(t)
	tokens, err := oauth.NewIssuers(oauth.IssuersConfig{PublicURL: "https://rag.example.com"})
	must(t, err)
	return service.Config{
		Tokens: tokens, MCP: mcphttp.Config{PublicURL: "https://rag.example.com"}, MasterKeys: keys, AllowedPrivateNetworks: []string{"127.0.0.0/8"},
		Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1, Models: []string{"*"}}},
	}, ai
}

// mayBeEmpty are tables whose rows do not last, or that fill cannot fill without other services.
var mayBeEmpty = []string{
	"ragd.backlog", "ragd.console_sessions", "ragd.databases", "ragd.idempotent_calls", "ragd.imports", "ragd.moved_work", "ragd.moves", "ragd.river_notification", "ragd.signing_keys", "ragd.wal_timeline",
	"ragd_shared.asked_questions", "ragd_shared.chunk_changes", "ragd_shared.connector_tokens", "ragd_shared.event_watchers", "ragd_shared.mcp_messages", "ragd_shared.mcp_sessions", "ragd_shared.notable_questions", "ragd_shared.quota_warnings", "ragd_shared.stopped_tenants", "ragd_shared.tool_tasks", "ragd_shared.watched_indexes",
}

// TestMakeRelease writes the database of this checkout with -release.
func TestMakeRelease(t *testing.T) {
	if *release == "" {
		t.Skip("runs with -release")
	}
	config, ai := releaseConfig(t)
	s := servicetest.New(t, config)
	c := caller{t, s.URL}
	c.fill(ai.URL)
	for _, table := range emptyTables(t, s.Pool) {
		if !slices.Contains(mayBeEmpty, table) {
			t.Errorf("the table %s is empty: let fill make a row, or add it to mayBeEmpty", table)
		}
	}
	answers := c.reads()
	archived := exportRelease(t, s)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := io.WriteString(w, pgtest.Dump(t, s.Pool, "ragd", "ragd_shared", tenant.ID(ofRelease).Schema()))
	must(t, err)
	must(t, w.Close())
	text, err := json.MarshalIndent(snapshotOf{migrationSums(t), answers}, "", " ")
	must(t, err)
	if t.Failed() {
		return
	}
	must(t, os.MkdirAll(releasesDir, 0o755))
	must(t, os.WriteFile(filepath.Join(releasesDir, *release+".sql.gz"), packed.Bytes(), 0o644))
	must(t, os.WriteFile(filepath.Join(releasesDir, *release+".json"), append(text, '\n'), 0o644))
	must(t, os.WriteFile(filepath.Join(releasesDir, *release+".ragd"), archived, 0o644))
}

// exportRelease returns the archive of the tenant.
func exportRelease(t *testing.T, s *servicetest.Service) (data []byte) {
	t.Helper()
	stream, err := s.Operator().ExportTenant(t.Context(), &ragdv1.ExportTenantRequest{TenantId: ofRelease})
	must(t, err)
	for stream.Receive() {
		data = append(data, stream.Msg().GetData()...)
	}
	must(t, errors.Join(stream.Err(), stream.Close()))
	return data
}

// emptyTables returns the tables without rows.
func emptyTables(t *testing.T, pool *pgxpool.Pool) (empty []string) {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables
		WHERE table_type = 'BASE TABLE' AND (table_schema IN ('ragd', 'ragd_shared') OR table_schema = $1) ORDER BY 1`, tenant.ID(ofRelease).Schema())
	must(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	for _, table := range tables {
		var filled bool
		must(t, pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM `+table+`)`).Scan(&filled))
		if !filled {
			empty = append(empty, strings.Replace(table, `"`+tenant.ID(ofRelease).Schema()+`"`, "tenant", 1))
		}
	}
	return empty
}

// The database of each release is restored, migrated and read: the API answers what it
// answered in the release, and maybe more.
func TestDatabasesOfReleasesAreUpgraded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(releasesDir, "*.sql.gz"))
	must(t, err)
	if len(files) == 0 {
		t.Fatal("there is no database of a release")
	}
	for _, file := range files { // not at once: their tenants have the same role
		name := strings.TrimSuffix(filepath.Base(file), ".sql.gz")
		t.Run(name, func(t *testing.T) {
			var known snapshotOf
			text, err := os.ReadFile(filepath.Join(releasesDir, name+".json"))
			must(t, err)
			must(t, json.Unmarshal(text, &known))
			now := migrationSums(t)
			for migration, sum := range known.Migrations {
				if now[migration] != sum {
					t.Fatalf("the migration %s has changed since %s: databases have run it already, so make a new one", migration, name)
				}
			}
			config, _ := releaseConfig(t)
			config.AdminPool = pgtest.Pool(t)
			restore(t, config.AdminPool, file)
			c := caller{t, servicetest.New(t, config).URL}
			for _, call := range known.Answers {
				got := within(call.Answer, c.read(call))
				if diff := cmp.Diff(call.Answer, got); diff != "" {
					t.Errorf("%s %v (-then +now):\n%s", call.Path, call.Body, diff)
				}
			}
			c.call("DocumentService/UploadDocument", object{"indexName": "docs", "uri": "new.md", "text": "Only the new page knows of swordfish.", "metadata": object{"team": "a"}})
			c.awaitJobs()
			if found := c.list("QueryService/VectorQuery", "sources", object{"indexName": "docs", "queryText": "swordfish", "searchMode": "keyword"}); len(found) != 1 {
				t.Errorf("%d passages of a new document are found", len(found))
			}
		})
		t.Run(name+" as an archive", func(t *testing.T) { importRelease(t, strings.TrimSuffix(file, ".sql.gz")) })
	}
}

// importRelease imports the archive of a release into an empty service, which answers what the release answered.
func importRelease(t *testing.T, path string) {
	var known snapshotOf
	text, err := os.ReadFile(path + ".json")
	must(t, err)
	must(t, json.Unmarshal(text, &known))
	data, err := os.ReadFile(path + ".ragd")
	must(t, err)
	config, _ := releaseConfig(t)
	s := servicetest.New(t, config)
	stream, err := s.Operator().ImportTenant(t.Context())
	must(t, err)
	must(t, stream.Send(&ragdv1.ImportTenantRequest{Part: &ragdv1.ImportTenantRequest_Options{Options: &ragdv1.ImportOptions{}}}))
	must(t, stream.Send(&ragdv1.ImportTenantRequest{Part: &ragdv1.ImportTenantRequest_Data{Data: data}}))
	done, err := stream.CloseAndReceive()
	must(t, err)
	if done.Tenant.TenantId != ofRelease || len(done.LostSecrets) > 0 || len(done.LeftOut) > 0 {
		t.Errorf("imported %v", done)
	}
	c := caller{t, s.URL}
	for _, call := range known.Answers {
		if call.Path == "TenantService/GetTenant" {
			delete(call.Answer.(object), "updateTime") // of the import
		}
		got := within(call.Answer, c.read(call))
		if diff := cmp.Diff(call.Answer, got); diff != "" {
			t.Errorf("%s %v (-then +now):\n%s", call.Path, call.Body, diff)
		}
	}
}

// restore runs a dump.
func restore(t *testing.T, pool *pgxpool.Pool, file string) {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	text, err := gzip.NewReader(f)
	must(t, err)
	sql, err := io.ReadAll(text)
	must(t, err)
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig.Copy())
	must(t, err)
	defer conn.Close(t.Context())
	_, err = conn.PgConn().Exec(t.Context(), string(sql)).ReadAll()
	must(t, err)
}

// The databases of the first builds, whose migrations were changed after they had run, are refused in a sentence
// that says what to do, before anything in them is changed.
func TestDatabasesOfTheFirstBuildsAreRefused(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/refused/*.sql.gz")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("there is no database of a first build")
	}
	for _, file := range files {
		admin := pgtest.Pool(t)
		restore(t, admin, file)
		_, err := service.New(t.Context(), service.Config{AdminPool: admin, Pool: pgtest.ServicePool(t, admin), Listen: "127.0.0.1:0"})
		if fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), "from before 2026-11-25") || !strings.Contains(fault.Public(err), "ingest the documents again") {
			t.Errorf("%s: error %v", file, err)
		}
		var version int
		must(t, admin.QueryRow(t.Context(), `SELECT version FROM ragd.schema_migrations`).Scan(&version))
		if newest := migrations.Newest(migrations.Control()); version >= newest {
			t.Errorf("%s: was migrated to version %d", file, version)
		}
	}
}

// A release does not start on the database of one that is too new for it.
func TestTheDatabaseOfANewerReleaseIsRefused(t *testing.T) {
	t.Parallel()
	admin := pgtest.Pool(t)
	must(t, provision.MigrateControl(t.Context(), admin))
	config := service.Config{AdminPool: admin, Pool: pgtest.ServicePool(t, admin), Listen: "127.0.0.1:0"}
	newest := migrations.Newest(migrations.Control())
	_, err := admin.Exec(t.Context(), `UPDATE ragd.compatibility SET control_version = $1`, newest+1)
	must(t, err)
	s, err := service.New(t.Context(), config)
	if err == nil {
		must(t, s.Close())
	}
	want := fmt.Sprintf("the database was migrated by a newer ragd: it needs one that knows version %d of the schema ragd, but this one knows up to %d", newest+1, newest)
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	_, err = admin.Exec(t.Context(), `UPDATE ragd.compatibility SET control_version = $1`, newest)
	must(t, err)
	s, err = service.New(t.Context(), config)
	must(t, err)
	must(t, s.Close())
}
