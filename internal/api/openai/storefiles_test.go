package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// picture is the beginning of a file of a format that is not read.
const picture = "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"

func (c caller) newStore(t *testing.T) (id, path string) {
	t.Helper()
	id = c.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", nil)["id"].(string)
	return id, "/v1/vector_stores/" + id
}

// pages returns the ids of a list that is read page by page, and fails if a page has over limit entries.
func (c caller) pages(t *testing.T, path string, limit int) (ids []string) {
	t.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for after := ""; ; {
		page := c.want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("%s%slimit=%d&after=%s", path, separator, limit, after), nil)
		data, _ := page["data"].([]any)
		if len(data) > limit {
			t.Errorf("%s: a page of %d", path, len(data))
		}
		for _, entry := range data {
			ids = append(ids, entry.(map[string]any)["id"].(string))
		}
		if page["has_more"] != true {
			return ids
		}
		after = page["last_id"].(string)
	}
}

// A file that the store cannot read is one of it that has failed, for those who wait for it, too.
func TestAFileThatCannotBeReadHasFailed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	acme, bolt := of(s, client), of(s, s.Tenant(t, "bolt"))
	store, at := acme.newStore(t)
	var broken []string
	for i := range 3 {
		id := acme.upload(t, fmt.Sprintf("%d.png", i), picture)
		broken = append(broken, id)
		acme.want(t, http.StatusOK, http.MethodPost, at+"/files", map[string]any{"file_id": id, "attributes": map[string]any{"team": "a"}})
	}
	good := acme.upload(t, "good.txt", "The tide turns.")
	batch := acme.want(t, http.StatusOK, http.MethodPost, at+"/file_batches", map[string]any{"file_ids": append([]string{good}, broken...), "attributes": map[string]any{"team": "a"}})["id"].(string)
	client.AwaitAll(t, strings.TrimPrefix(store, "vs_"))

	got := acme.want(t, http.StatusOK, http.MethodGet, at+"/files/"+broken[0], nil)
	reason, _ := got["last_error"].(map[string]any)
	if got["status"] != "failed" || reason["message"] == "" || fmt.Sprint(got["attributes"]) != "map[team:a]" {
		t.Error(got)
	}
	for path, want := range map[string][]string{
		at + "/files?order=asc":                                   append([]string{good}, broken...),
		at + "/files?filter=failed&order=asc":                     broken,
		at + "/files?filter=failed":                               {broken[2], broken[1], broken[0]},
		at + "/files?filter=completed":                            {good},
		at + "/file_batches/" + batch + "/files?order=asc":        append([]string{good}, broken...),
		at + "/file_batches/" + batch + "/files?filter=failed":    {broken[2], broken[1], broken[0]},
		at + "/file_batches/" + batch + "/files?filter=completed": {good},
	} {
		for limit := 1; limit <= 5; limit++ {
			if got := acme.pages(t, path, limit); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s by %d: %v, want %v", path, limit, got, want)
			}
		}
	}
	if counts := acme.want(t, http.StatusOK, http.MethodGet, at, nil)["file_counts"].(map[string]any); counts["failed"] != 3.0 || counts["total"] != 4.0 {
		t.Error(counts)
	}
	bolt.want(t, http.StatusNotFound, http.MethodGet, at+"/files/"+broken[0], nil)

	// Who sees other documents alone does not see it.
	for team, want := range map[string]int{"a": 3, "b": 0} {
		filtered := caller{url: s.URL, secret: s.Key(t, &ragdv1.CreateApiKeyRequest{
			TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": team}),
		})}
		if got := filtered.pages(t, at+"/files?filter=failed", 2); len(got) != want {
			t.Errorf("team %s sees %v", team, got)
		}
		if got := filtered.want(t, http.StatusOK, http.MethodGet, at, nil)["file_counts"].(map[string]any); got["failed"] != float64(want) {
			t.Errorf("team %s: %v", team, got)
		}
		status, _ := filtered.do(t, http.MethodGet, at+"/files/"+broken[0], nil)
		if status != map[int]int{0: 404, 3: 200}[want] {
			t.Errorf("team %s: %d", team, status)
		}
	}

	acme.want(t, http.StatusOK, http.MethodDelete, at+"/files/"+broken[0], nil)
	acme.want(t, http.StatusNotFound, http.MethodDelete, at+"/files/"+broken[0], nil)
	acme.want(t, http.StatusOK, http.MethodDelete, "/v1/files/"+broken[1], nil)
	if got := acme.pages(t, at+"/files?filter=failed", 10); fmt.Sprint(got) != fmt.Sprint(broken[2:]) {
		t.Error(got)
	}
}

// A store that cannot take a file again keeps what it has, and says so.
func TestARefusedUpdateIsAnError(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	acme := of(s, client)
	store, at := acme.newStore(t)
	id := acme.upload(t, "a.txt", "The tide turns.")
	acme.want(t, http.StatusOK, http.MethodPost, at+"/files", map[string]any{"file_id": id})
	client.AwaitAll(t, strings.TrimPrefix(store, "vs_"))
	if _, err := s.DB.Handle("acme").Exec(t.Context(), `UPDATE ragd_shared.file_contents SET content = $1`, []byte(picture)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB.Handle("acme").Exec(t.Context(), `UPDATE ragd_shared.files SET byte_size = $1`, len(picture)); err != nil {
		t.Fatal(err)
	}
	acme.want(t, http.StatusBadRequest, http.MethodPost, at+"/files/"+id, map[string]any{"attributes": map[string]any{"a": 1}})
	if got := acme.want(t, http.StatusOK, http.MethodGet, at+"/files/"+id, nil); got["status"] != "completed" {
		t.Error(got)
	}
}

// A file that is deleted while it is put into a store does not become a document of half of it.
func TestAFileWithoutItsContentIsNotStored(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	acme := of(s, client)
	_, at := acme.newStore(t)
	id := acme.upload(t, "a.txt", strings.Repeat("The tide turns.\n", 100_000))
	if _, err := s.DB.Handle("acme").Exec(t.Context(), `DELETE FROM ragd_shared.file_contents WHERE segment = 1`); err != nil {
		t.Fatal(err)
	}
	acme.want(t, http.StatusNotFound, http.MethodPost, at+"/files", map[string]any{"file_id": id})
	if got := acme.pages(t, at+"/files", 10); len(got) != 0 {
		t.Error(got)
	}
}

// A document whose uri looks as if it had been made from a file can be read by the id that a list shows.
func TestAUriMayLookLikeThatOfAFile(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	acme := of(s, client)
	store, at := acme.newStore(t)
	index := strings.TrimPrefix(store, "vs_")
	if _, err := client.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: index, Uri: "file-abcdefghijklmnopqrstuvwx/a.txt", Source: &ragdv1.UploadDocumentRequest_Text{Text: "The tide turns."}}); err != nil {
		t.Fatal(err)
	}
	client.AwaitAll(t, index)
	ids := acme.pages(t, at+"/files", 10)
	if len(ids) != 1 {
		t.Fatal(ids)
	}
	acme.want(t, http.StatusOK, http.MethodGet, at+"/files/"+ids[0], nil)
	found := acme.want(t, http.StatusOK, http.MethodPost, at+"/search", map[string]any{"query": "tide"})["data"].([]any)
	if len(found) != 1 || found[0].(map[string]any)["file_id"] != ids[0] {
		t.Error(found)
	}
	acme.want(t, http.StatusOK, http.MethodDelete, at+"/files/"+ids[0], nil)
}

// A key that is bound to an index reads and searches it alone.
func TestAKeyOfOneIndex(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	acme := of(s, client)
	mine, at := acme.newStore(t)
	other, beside := acme.newStore(t)
	id := acme.upload(t, "a.txt", "The tide turns.")
	for _, path := range []string{at, beside} {
		acme.want(t, http.StatusOK, http.MethodPost, path+"/files", map[string]any{"file_id": id})
	}
	batch := acme.want(t, http.StatusOK, http.MethodPost, beside+"/file_batches", map[string]any{"file_ids": []string{id}})["id"].(string)
	client.AwaitAll(t, strings.TrimPrefix(mine, "vs_"))
	client.AwaitAll(t, strings.TrimPrefix(other, "vs_"))
	bound := caller{url: s.URL, secret: s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"admin"}, Indexes: &ragdv1.AllowedNames{Names: []string{strings.TrimPrefix(mine, "vs_")}},
	})}
	if got := bound.pages(t, "/v1/vector_stores", 10); fmt.Sprint(got) != fmt.Sprint([]string{mine}) {
		t.Error(got)
	}
	if found := bound.want(t, http.StatusOK, http.MethodPost, at+"/search", map[string]any{"query": "tide"})["data"].([]any); len(found) != 1 {
		t.Error(found)
	}
	bound.want(t, http.StatusOK, http.MethodGet, at+"/files/"+id, nil)
	for _, call := range []struct {
		method, path string
		body         any
	}{
		{"GET", beside, nil},
		{"POST", beside, map[string]any{"name": "a"}},
		{"DELETE", beside, nil},
		{"POST", beside + "/search", map[string]any{"query": "tide"}},
		{"GET", beside + "/files", nil},
		{"GET", beside + "/files/" + id, nil},
		{"GET", beside + "/files/" + id + "/content", nil},
		{"DELETE", beside + "/files/" + id, nil},
		{"POST", beside + "/files", map[string]any{"file_id": id}},
		{"GET", beside + "/file_batches/" + batch, nil},
		{"GET", "/v1/vector_stores?after=" + other, nil},
		{"GET", "/v1/files", nil},
		{"GET", "/v1/files/" + id + "/content", nil},
		{"POST", "/v1/vector_stores", map[string]any{}},
	} {
		if status, answer := bound.do(t, call.method, call.path, call.body); status != http.StatusForbidden && status != http.StatusNotFound {
			t.Errorf("%s %s: %d %v", call.method, call.path, status, answer)
		}
	}
}

// What a call leaves behind whose index is deleted meanwhile is not that of a later index of the name.
func TestANewIndexBeginsEmpty(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	acme := of(s, client)
	for _, statement := range []string{
		`INSERT INTO ragd_shared.vector_stores (index_name, store_name, metadata) VALUES ('docs', 'earlier', '{}')`,
		`INSERT INTO ragd_shared.vector_store_files (index_name, file_id, file_name, chunking, refused) VALUES ('docs', 'file-a', 'a', '{}', '{"code":"invalid_file"}')`,
		`INSERT INTO ragd_shared.file_batches (index_name, batch_id, file_ids, errors) VALUES ('docs', 'vsfb_a', '{}', '{}')`,
	} {
		if _, err := s.DB.Handle("acme").Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	if got := acme.want(t, http.StatusOK, http.MethodGet, "/v1/vector_stores/vs_docs", nil); got["name"] != "docs" {
		t.Error(got)
	}
	if got := acme.pages(t, "/v1/vector_stores/vs_docs/files", 10); len(got) != 0 {
		t.Error(got)
	}
	acme.want(t, http.StatusNotFound, http.MethodGet, "/v1/vector_stores/vs_docs/file_batches/vsfb_a", nil)
}

// The oldest batches of a tenant go when there are too many, and those of others stay.
func TestOldBatchesGo(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	batches := map[string]string{}
	for _, id := range []string{"bolt", "acme"} {
		c := of(s, s.Tenant(t, id))
		_, at := c.newStore(t)
		file := c.upload(t, "a.txt", "The tide turns.")
		add := func() string {
			return at + "/file_batches/" + c.want(t, http.StatusOK, http.MethodPost, at+"/file_batches", map[string]any{"file_ids": []string{file}})["id"].(string)
		}
		batches[id] = add()
		if id == "bolt" {
			continue
		}
		if _, err := s.Pool.Exec(t.Context(), `
			INSERT INTO ragd_shared.file_batches (tenant_id, batch_id, index_name, file_ids, errors, created_at)
			SELECT tenant_id, 'vsfb_' || n, index_name, file_ids, errors, created_at + n * interval '1 ms'
			FROM ragd_shared.file_batches, generate_series(1, 1000) AS n`); err != nil {
			t.Fatal(err)
		}
		second := add()
		c.want(t, http.StatusNotFound, http.MethodGet, batches[id], nil)
		c.want(t, http.StatusOK, http.MethodGet, second, nil)
	}
	var left int
	if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd_shared.file_batches WHERE tenant_id = 'acme'`).Scan(&left); err != nil || left != 1000 {
		t.Errorf("%d batches are left, %v", left, err)
	}
	if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd_shared.file_batches WHERE tenant_id = 'bolt'`).Scan(&left); err != nil || left != 1001 {
		t.Errorf("%d batches of the other tenant are left, %v", left, err)
	}
}

// What is answered takes memory of the tenant until it is received.
func TestAnAnswerTakesMemoryOfItsTenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{MaxRequestMemory: 8 << 20})
	client := s.Tenant(t, "acme")
	acme := of(s, client)
	store, at := acme.newStore(t)
	for size, status := range map[int]int{100_000: http.StatusOK, 5 << 20: http.StatusTooManyRequests} {
		id := acme.upload(t, "a.txt", strings.Repeat("The tide turns.\n", size/16))
		acme.want(t, http.StatusOK, http.MethodPost, at+"/files", map[string]any{"file_id": id})
		client.AwaitAll(t, strings.TrimPrefix(store, "vs_"))
		acme.want(t, status, http.MethodGet, at+"/files/"+id+"/content", nil)
		acme.want(t, http.StatusOK, http.MethodGet, "/v1/files/"+id+"/content", nil)
	}
}

// A document that is deleted by another interface is no file of the vector store any more, and nothing
// is kept of it there, whatever deletes it. The file itself stays, and can be put into the store again.
func TestADeletedDocumentIsNoFileOfTheStore(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	client := s.Tenant(t, "acme")
	acme := of(s, client)
	store, at := acme.newStore(t)
	other, otherAt := acme.newStore(t)
	index, otherIndex := strings.TrimPrefix(store, "vs_"), strings.TrimPrefix(other, "vs_")
	id, bad := acme.upload(t, "tide.txt", "The tide turns."), acme.upload(t, "bad.png", picture)
	acme.want(t, http.StatusOK, http.MethodPost, otherAt+"/files", map[string]any{"file_id": id})
	acme.want(t, http.StatusOK, http.MethodPost, at+"/files", map[string]any{"file_id": bad})
	client.AwaitAll(t, otherIndex)
	for name, remove := range map[string]func() error{
		"DeleteDocument": func() error {
			_, err := client.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: index, Uri: id + "/tide.txt"})
			return err
		},
		"DeleteDocuments": func() error {
			_, err := client.DeleteDocuments(t.Context(), &ragdv1.DeleteDocumentsRequest{IndexName: index, Uris: []string{id + "/tide.txt"}})
			return err
		},
		"TruncateIndex": func() error {
			_, err := client.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: index})
			return err
		},
	} {
		chunking := map[string]any{"type": "static", "static": map[string]any{"max_chunk_size_tokens": 200, "chunk_overlap_tokens": 10}}
		acme.want(t, http.StatusOK, http.MethodPost, at+"/files", map[string]any{"file_id": id, "chunking_strategy": chunking})
		client.AwaitAll(t, index)
		if got := fmt.Sprint(acme.pages(t, at+"/files?order=asc", 10)); got != fmt.Sprint([]string{id, bad}) {
			t.Errorf("before %s the store has %s", name, got)
		}
		if err := remove(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := fmt.Sprint(acme.pages(t, at+"/files", 10)); got != fmt.Sprint([]string{bad}) {
			t.Errorf("after %s the store has %s", name, got)
		}
		acme.want(t, http.StatusNotFound, http.MethodGet, at+"/files/"+id, nil)
		var kept, elsewhere int
		err := s.Pool.QueryRow(t.Context(), `
			SELECT count(*) FILTER (WHERE index_name = $2), count(*) FILTER (WHERE index_name = $3) FROM ragd_shared.vector_store_files WHERE file_id = $1`,
			id, index, otherIndex).Scan(&kept, &elsewhere)
		if err != nil || kept != 0 || elsewhere != 1 {
			t.Errorf("after %s: %d rows are kept of it, and %d in another store; %v", name, kept, elsewhere, err)
		}
	}
	if got := acme.pages(t, otherAt+"/files", 10); len(got) != 1 || got[0] != id {
		t.Errorf("another store has %v", got)
	}
}
