package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// caller calls the interface with one credential.
type caller struct {
	url, secret string
	headers     []string // names and values
}

func of(s *servicetest.Service, c servicetest.Client, headers ...string) caller {
	return caller{s.URL, c.Secret, headers}
}

// do sends a request and returns its status and answer. A body that is no string is sent as JSON.
func (c caller) do(t *testing.T, method, path string, body any) (int, map[string]any) {
	t.Helper()
	raw, ok := body.(string)
	if !ok && body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(encoded)
	}
	return c.send(t, method, path, "application/json", strings.NewReader(raw))
}

func (c caller) send(t *testing.T, method, path, contentType string, body io.Reader) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.secret)
	req.Header.Set("Content-Type", contentType)
	for i := 0; i+1 < len(c.headers); i += 2 {
		req.Header.Set(c.headers[i], c.headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.Header.Get("Content-Type") != "application/json" {
		return res.StatusCode, map[string]any{"content": string(answer)}
	}
	var out map[string]any
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Fatalf("%s %s: %v in %q", method, path, err, answer)
	}
	return res.StatusCode, out
}

// want sends a request that must have this status, and returns the answer.
func (c caller) want(t *testing.T, status int, method, path string, body any) map[string]any {
	t.Helper()
	got, answer := c.do(t, method, path, body)
	if got != status {
		t.Errorf("%s %s: %d %v, want %d", method, path, got, answer, status)
	}
	return answer
}

// upload uploads a file and returns its id.
func (c caller) upload(t *testing.T, name, content string) string {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("purpose", "assistants")
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(part, content)
	_ = w.Close()
	status, answer := c.send(t, http.MethodPost, "/v1/files", w.FormDataContentType(), &form)
	if status != http.StatusOK {
		t.Fatalf("upload: %d %v", status, answer)
	}
	return answer["id"].(string)
}

func errorOf(answer map[string]any) map[string]any {
	e, _ := answer["error"].(map[string]any)
	return e
}

func TestAFileBecomesADocument(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	acme := of(s, client)
	long := strings.Repeat("The tide turns twice a day.\n", 120_000) // more than a segment
	id := acme.upload(t, "tide.md", long)
	if status, got := acme.do(t, http.MethodGet, "/v1/files/"+id+"/content", nil); status != http.StatusOK || got["content"] != long {
		t.Errorf("content: %d, %d bytes", status, len(fmt.Sprint(got["content"])))
	}
	store := acme.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", map[string]any{"name": "Häfen & Tides", "file_ids": []string{id}})["id"].(string)
	index := strings.TrimPrefix(store, "vs_")
	if !strings.HasPrefix(index, "hfen-tides-") {
		t.Errorf("index %q", index)
	}
	client.AwaitAll(t, index)
	file := acme.want(t, http.StatusOK, http.MethodGet, "/v1/vector_stores/"+store+"/files/"+id, nil)
	if file["status"] != "completed" {
		t.Error(file)
	}
	d, err := client.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: index, Uri: id + "/tide.md"})
	if err != nil || int(d.GetByteSize()) != len(long) || d.GetContentType() != "text/markdown" {
		t.Error(d, err)
	}
	acme.want(t, http.StatusOK, http.MethodDelete, "/v1/files/"+id, nil)
	_, err = client.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: index, DocumentId: d.GetDocumentId()})
	servicetest.WantCode(t, "the document of a deleted file", err, 5)
}

func TestAnExpiredFileIsGone(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := of(s, s.Tenant(t, "acme"))
	id := acme.upload(t, "a.txt", "one")
	h := s.DB.Handle("acme")
	if _, err := h.Exec(t.Context(), `UPDATE ragd_shared.files SET expires_at = now() - interval '1 second'`); err != nil {
		t.Fatal(err)
	}
	acme.want(t, http.StatusNotFound, http.MethodGet, "/v1/files/"+id, nil)
	acme.want(t, http.StatusNotFound, http.MethodGet, "/v1/files/"+id+"/content", nil)
	acme.want(t, http.StatusNotFound, http.MethodPost, "/v1/vector_stores", map[string]any{"file_ids": []string{id}})
	if files := acme.want(t, http.StatusOK, http.MethodGet, "/v1/files", nil)["data"].([]any); len(files) != 0 {
		t.Error(files)
	}
	acme.upload(t, "b.txt", "two")
	var left int
	if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd_shared.file_contents`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d contents are left, %v", left, err)
	}
}

// What belongs to a tenant does not exist for another one, whatever is asked of it.
func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	acme, bolt := of(s, client), of(s, s.Tenant(t, "bolt"))
	file := acme.upload(t, "a.txt", "the secret of acme")
	store := acme.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", map[string]any{"name": "x", "metadata": map[string]string{"k": "of acme"}})["id"].(string)
	batch := acme.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores/"+store+"/file_batches", map[string]any{"file_ids": []string{file}})["id"].(string)
	client.AwaitAll(t, strings.TrimPrefix(store, "vs_"))
	own := bolt.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", map[string]any{"name": "x"})["id"].(string)
	for _, path := range []string{"/v1/files", "/v1/vector_stores", "/v1/vector_stores/" + own + "/files"} {
		if answer := fmt.Sprint(bolt.want(t, http.StatusOK, http.MethodGet, path, nil)); strings.Contains(answer, "acme") || strings.Contains(answer, file) || strings.Contains(answer, store) {
			t.Errorf("%s: %s", path, answer)
		}
	}
	for _, in := range []string{store, own} {
		at := "/v1/vector_stores/" + in
		for _, call := range []struct {
			method, path string
			body         any
		}{
			{"GET", "/v1/files/" + file, nil},
			{"GET", "/v1/files/" + file + "/content", nil},
			{"GET", "/v1/files?after=" + file, nil},
			{"DELETE", "/v1/files/" + file, nil},
			{"GET", "/v1/vector_stores?after=" + store, nil},
			{"POST", "/v1/vector_stores", map[string]any{"file_ids": []string{file}}},
			{"POST", at + "/files", map[string]any{"file_id": file}},
			{"GET", at + "/files/" + file, nil},
			{"GET", at + "/files/" + file + "/content", nil},
			{"GET", at + "/files?after=" + file, nil},
			{"POST", at + "/files/" + file, map[string]any{"attributes": map[string]any{"a": 1}}},
			{"DELETE", at + "/files/" + file, nil},
			{"POST", at + "/file_batches", map[string]any{"file_ids": []string{file}}},
			{"GET", at + "/file_batches/" + batch, nil},
			{"GET", at + "/file_batches/" + batch + "/files", nil},
			{"POST", at + "/file_batches/" + batch + "/cancel", nil},
		} {
			bolt.want(t, http.StatusNotFound, call.method, call.path, call.body)
		}
	}
	at := "/v1/vector_stores/" + store
	bolt.want(t, http.StatusNotFound, http.MethodGet, at, nil)
	bolt.want(t, http.StatusNotFound, http.MethodPost, at, map[string]any{"name": "taken"})
	bolt.want(t, http.StatusNotFound, http.MethodPost, at+"/search", map[string]any{"query": "secret"})
	bolt.want(t, http.StatusNotFound, http.MethodGet, at+"/files", nil)
	bolt.want(t, http.StatusNotFound, http.MethodDelete, at, nil)
	if got := acme.want(t, http.StatusOK, http.MethodGet, at, nil); got["name"] != "x" {
		t.Error(got)
	}
	if got := acme.want(t, http.StatusOK, http.MethodGet, at+"/file_batches/"+batch, nil); got["status"] != "completed" {
		t.Error(got)
	}
	acme.want(t, http.StatusOK, http.MethodDelete, at, nil)
	for _, table := range []string{"vector_stores", "vector_store_files", "file_batches"} {
		var of []string
		rows, err := s.Pool.Query(t.Context(), `SELECT DISTINCT tenant_id FROM ragd_shared.`+table)
		if err == nil {
			of, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		if err != nil || slices.Contains(of, "acme") {
			t.Errorf("after its store was deleted, acme has rows in %s: %v", table, err)
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	acme := of(s, client)
	file := acme.upload(t, "a.txt", "one")
	store := acme.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", nil)["id"].(string)
	key := func(req *ragdv1.CreateApiKeyRequest) caller {
		req.TenantId = "acme"
		return caller{url: s.URL, secret: s.Key(t, req)}
	}
	reads := []string{"/v1/models", "/v1/vector_stores", "/v1/vector_stores/" + store, "/v1/vector_stores/" + store + "/files"}
	files := []string{"/v1/files", "/v1/files/" + file, "/v1/files/" + file + "/content"}

	reader := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"read"}})
	for _, path := range append(reads, files...) {
		reader.want(t, http.StatusOK, http.MethodGet, path, nil)
	}
	writes := [][2]string{
		{http.MethodPost, "/v1/vector_stores"}, {http.MethodPost, "/v1/vector_stores/" + store}, {http.MethodDelete, "/v1/vector_stores/" + store},
		{http.MethodPost, "/v1/vector_stores/" + store + "/files"}, {http.MethodPost, "/v1/vector_stores/" + store + "/file_batches"},
		{http.MethodDelete, "/v1/vector_stores/" + store + "/files/" + file}, {http.MethodDelete, "/v1/files/" + file}, {http.MethodPost, "/v1/files"},
	}
	for _, write := range writes {
		reader.want(t, http.StatusForbidden, write[0], write[1], nil)
	}
	filtered := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"write"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "a"})})
	for _, path := range reads {
		filtered.want(t, http.StatusOK, http.MethodGet, path, nil)
	}
	for _, path := range files {
		filtered.want(t, http.StatusForbidden, http.MethodGet, path, nil)
	}
	for _, write := range writes {
		filtered.want(t, http.StatusForbidden, write[0], write[1], nil)
	}
	bound := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"admin"}, Tools: &ragdv1.AllowedNames{Names: []string{"vector_query"}}})
	for _, path := range append(reads, files...) {
		bound.want(t, http.StatusForbidden, http.MethodGet, path, nil)
	}
	operator := of(s, s.Operator())
	operator.want(t, http.StatusBadRequest, http.MethodGet, "/v1/models", nil)
	of(s, s.Operator(), "Ragd-Tenant", "acme").want(t, http.StatusOK, http.MethodGet, "/v1/files/"+file, nil)
	of(s, client, "Ragd-Server", "x").want(t, http.StatusBadRequest, http.MethodGet, "/v1/models", nil)
	if got := errorOf(caller{url: s.URL, secret: "wrong"}.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/models", nil)); got["code"] != "invalid_api_key" {
		t.Error(got)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := of(s, s.Tenant(t, "acme"))
	for _, c := range []struct {
		method, path, body string
		status             int
		param              any
	}{
		{"GET", "/v1/", "", 404, nil},
		{"POST", "/v1/completions", "{}", 404, nil},
		{"PUT", "/v1/embeddings", "{}", 404, nil},
		{"GET", "/v1/embeddings", "", 404, nil},
		{"POST", "/v1/embeddings", "", 400, "input"},
		{"POST", "/v1/embeddings", "[]", 400, nil},
		{"POST", "/v1/embeddings", "{", 400, nil},
		{"POST", "/v1/embeddings", `{"input":"a"}{}`, 400, nil},
		{"POST", "/v1/embeddings", `{"input":"a","model":3}`, 400, "model"},
		{"POST", "/v1/embeddings", `{"input":"a","colour":3}`, 400, "colour"},
		{"POST", "/v1/embeddings", `{"input":"a","encoding_format":"hex"}`, 400, "encoding_format"},
		{"POST", "/v1/embeddings", `{"input":[[1]]}`, 400, "input"},
		{"POST", "/v1/embeddings", `{"input":"a","dimensions":-1}`, 400, "dimensions"},
		{"POST", "/v1/embeddings", strings.Repeat("[", 1<<20), 400, nil},
		{"POST", "/v1/embeddings", `{"input":"` + strings.Repeat("a", 33<<20) + `"}`, 413, nil},
		{"POST", "/v1/rerank", `{"query":"a"}`, 400, "documents"},
		{"POST", "/v1/rerank", `{"query":"a","documents":[3]}`, 400, "documents"},
		{"POST", "/v1/rerank", `{"query":"a","documents":["b"],"top_n":0}`, 400, "top_n"},
		{"POST", "/v1/rerank", `{"query":"","documents":["b"]}`, 400, "query"},
		{"POST", "/v2/rerank", `{"query":"a","documents":["b"],"model":"none/x"}`, 400, "model"},
		{"GET", "/v1/files?limit=0", "", 400, "limit"},
		{"GET", "/v1/files?limit=x", "", 400, "limit"},
		{"GET", "/v1/files?order=up", "", 400, "order"},
		{"GET", "/v1/files?colour=red", "", 400, "colour"},
		{"GET", "/v1/files?after=file-none", "", 404, "after"},
		{"GET", "/v1/vector_stores?before=vs_a", "", 400, "before"},
		{"GET", "/v1/vector_stores/none", "", 404, nil},
		{"GET", "/v1/vector_stores/vs_", "", 404, nil},
		{"GET", "/v1/vector_stores/vs_%00", "", 404, nil},
		{"GET", "/v1/vector_stores/vs_a'b", "", 404, nil},
		{"POST", "/v1/files", `{}`, 400, nil},
		{"POST", "/v1/vector_stores", `{"name":"` + strings.Repeat("a", 600) + `"}`, 400, "name"},
		{"POST", "/v1/vector_stores", `{"metadata":{"":"a"}}`, 400, "metadata"},
		{"POST", "/v1/vector_stores", `{"metadata":{"a":3}}`, 400, "metadata"},
		{"POST", "/v1/vector_stores", `{"expires_after":{"days":3}}`, 400, "expires_after"},
		{"POST", "/v1/vector_stores", `{"file_ids":["file-none"]}`, 404, "file_ids.0"},
		{"POST", "/v1/vector_stores", `{"chunking_strategy":{"type":"static"}}`, 200, nil}, // of no file
	} {
		status, answer := acme.do(t, c.method, c.path, c.body)
		got := errorOf(answer)
		if status != c.status || status != 200 && (got["param"] != c.param || got["message"] == "" || got["type"] == "") {
			t.Errorf("%s %s %.60s: %d %v, want %d about %v", c.method, c.path, c.body, status, answer, c.status, c.param)
		}
	}
	file := acme.upload(t, "a.txt", "one")
	store := acme.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", nil)["id"].(string)
	for body, param := range map[string]string{
		`{}`: "file_id",
		`{"file_id":"ID","attributes":{"a.b":1}}`:                                                                                 "attributes",
		`{"file_id":"ID","attributes":{"$a":1}}`:                                                                                  "attributes",
		`{"file_id":"ID","attributes":{"a":[1]}}`:                                                                                 "attributes",
		`{"file_id":"ID","attributes":{"a":null}}`:                                                                                "attributes",
		`{"file_id":"ID","attributes":{"a":"` + strings.Repeat("b", 513) + `"}}`:                                                  "attributes",
		`{"file_id":"ID","chunking_strategy":{"type":"magic"}}`:                                                                   "chunking_strategy.type",
		`{"file_id":"ID","chunking_strategy":{"type":"static"}}`:                                                                  "chunking_strategy.static",
		`{"file_id":"ID","chunking_strategy":{"type":"static","static":{"max_chunk_size_tokens":99,"chunk_overlap_tokens":0}}}`:   "chunking_strategy.static.max_chunk_size_tokens",
		`{"file_id":"ID","chunking_strategy":{"type":"static","static":{"max_chunk_size_tokens":100,"chunk_overlap_tokens":51}}}`: "chunking_strategy.static.chunk_overlap_tokens",
	} {
		status, answer := acme.do(t, http.MethodPost, "/v1/vector_stores/"+store+"/files", strings.ReplaceAll(body, "ID", file))
		if status != http.StatusBadRequest || errorOf(answer)["param"] != param {
			t.Errorf("%.80s: %d %v, want %s", body, status, answer, param)
		}
	}
}

func TestTheQuotaOfATenantCoversFiles(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{MaxTenantBytes: 4 << 20})
	acme := of(s, s.Tenant(t, "acme"))
	for i := range 8 {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		_ = w.WriteField("purpose", "assistants")
		part, err := w.CreateFormFile("file", "a.txt")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, strings.Repeat("a", 1<<20))
		_ = w.Close()
		status, answer := acme.send(t, http.MethodPost, "/v1/files", w.FormDataContentType(), &form)
		if status == http.StatusTooManyRequests {
			t.Logf("file %d: %v", i, answer)
			return
		}
		if status != http.StatusOK {
			t.Fatal(status, answer)
		}
	}
	t.Error("8 MiB were stored")
}

// The index of the request context would make a path speak of another vector store.
func TestTheContextDoesNotChangeTheStore(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	at := "/v1/vector_stores/" + of(s, client).want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", nil)["id"].(string)
	other := of(s, client).want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", nil)["id"].(string)
	elsewhere := of(s, client, "Ragd-Context", `{"indexName":"`+strings.TrimPrefix(other, "vs_")+`"}`)
	elsewhere.want(t, http.StatusBadRequest, http.MethodGet, at+"/files", nil)
	elsewhere.want(t, http.StatusBadRequest, http.MethodDelete, at, nil)
}
