package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// ingest uploads documents, waits until they are processed, and returns how many of them
// were stored before.
func (f fixture) ingest(t *testing.T, docs []*ragdv1.UploadDocumentRequest) (unchanged int) {
	t.Helper()
	for _, r := range f.UploadAll(t, docs) {
		if r.Error != nil {
			t.Fatalf("%s: %v", r.Uri, r.Error)
		}
		if r.Unchanged {
			unchanged++
		}
	}
	f.AwaitAll(t, "docs")
	return unchanged
}

// embedded returns how many texts the provider was asked to embed.
func (f fixture) embedded() (texts int) {
	for _, r := range f.provider.Requests() {
		inputs, _ := r.Body["input"].([]any)
		texts += len(inputs)
	}
	return texts
}

// backlog returns how many documents are waiting or claimed, according to the database.
func (f fixture) backlog(t *testing.T) (n int) {
	t.Helper()
	if err := f.service.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.backlog`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func numbered(n int, text func(i int) string) []*ragdv1.UploadDocumentRequest {
	docs := make([]*ragdv1.UploadDocumentRequest, n)
	for i := range docs {
		docs[i] = upload(fmt.Sprint("doc/", i), text(i))
	}
	return docs
}

func TestADocumentFailsAlone(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"refused": http.StatusBadRequest, "never answered well": http.StatusTeapot} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			f.provider.Set(modelserver.Fault{Status: status, When: func(r modelserver.Request) bool { return strings.Contains(r.Raw, "poison") }})
			f.ingest(t, numbered(40, func(i int) string {
				if i == 17 {
					return "A cup of poison."
				}
				return fmt.Sprint("A cup of tea, number ", i)
			}))
			if got := f.counts(t); got[1] != 39 || got[3] != 1 {
				t.Errorf("chunks, ready, pending, failed = %v", got)
			}
			if d := f.document(t, "doc/17"); d.Status != "failed" {
				t.Errorf("the bad document = %v", d)
			}
			if n := f.backlog(t); n != 0 {
				t.Errorf("%d are left in the backlog", n)
			}
		})
	}
}

func TestOnlyChangedChunksAreEmbedded(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const documents, paragraphs = 100, 8
	docs := numbered(documents, func(i int) string {
		var text strings.Builder
		for p := range paragraphs {
			fmt.Fprintf(&text, "# Part %d\n\n%s\n\n", p, strings.Repeat(fmt.Sprintf("Paragraph %d of document %d tells of boats. ", p, i), 20))
		}
		return text.String()
	})
	probed := f.embedded() // the probe for the model's dimension
	f.ingest(t, docs)
	first := f.embedded()
	chunks := f.counts(t)[0]
	if first-probed != int(chunks) || chunks < documents*paragraphs {
		t.Fatalf("%d texts were embedded for %d chunks", first-probed, chunks)
	}
	if unchanged := f.ingest(t, docs); unchanged != documents {
		t.Errorf("of the same corpus again %d documents are unchanged", unchanged)
	}
	if n := f.embedded() - first; n != 0 {
		t.Errorf("the same corpus again: %d texts were embedded", n)
	}
	docs[42].Source = servicetest.Text(strings.Replace(docs[42].GetText(), "# Part 3\n", "# Part three\n", 1))
	if unchanged := f.ingest(t, docs); unchanged != documents-1 {
		t.Errorf("with one document changed %d are unchanged", unchanged)
	}
	if n := f.embedded() - first; n < 1 || n > 3 {
		t.Errorf("with one of 800 paragraphs changed %d texts were embedded", n)
	}
	if got := f.counts(t); got != [4]int32{chunks, documents, 0, 0} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
}

// A tenant with thousands of documents and a slow provider does not delay the single
// document of another tenant.
func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const many = 6000
	f.provider.Set(modelserver.Fault{Delay: 500 * time.Millisecond})
	docs := numbered(many, func(i int) string { return fmt.Sprint("One of many, number ", i) })
	f.UploadAll(t, docs)
	other := fixture{f.service.Tenant(t, "zenith"), f.service, f.provider}
	_, err := other.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"})
	if err != nil {
		t.Fatal(err)
	}
	before := f.counts(t)[1]
	if d := other.Upload(t, upload("a", "The only one.")); d.Status != "ready" {
		t.Fatalf("the only document = %v", d)
	}
	// Two batches of the first tenant are processed at any time; each may end, and the
	// next begin, while the other tenant's document is read and embedded.
	if done := f.counts(t)[1] - before; done > many/4 {
		t.Errorf("%d documents of another tenant went before", done)
	}
}

func TestTheBacklogIsBounded(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]service.Config{
		"documents": {MaxQueuedDocuments: 3},
		"bytes":     {MaxQueuedBytes: 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config.NoWorkers = true
			s := servicetest.New(t, config)
			acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
			acme.Index(t, "docs")
			other.Index(t, "docs")
			body := strings.Repeat("x", 16)
			for i := range 3 {
				if _, err := acme.UploadDocument(t.Context(), upload(fmt.Sprint(i), body)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := acme.UploadDocument(t.Context(), upload("3", body))
			var refused *connect.Error
			if !errors.As(err, &refused) || refused.Code() != connect.CodeResourceExhausted {
				t.Fatalf("one too many: %v", err)
			}
			if refused.Meta().Get("Retry-After") != "2" || len(refused.Details()) != 2 { // RetryInfo and QuotaFailure
				t.Errorf("the refusal says to wait %q, details %v", refused.Meta().Get("Retry-After"), refused.Details())
			}
			if _, err := acme.UploadDocument(t.Context(), upload("1", body)); err != nil {
				t.Errorf("what is there already: %v", err)
			}
			if _, err := other.UploadDocument(t.Context(), upload("3", body)); err != nil {
				t.Errorf("another tenant's: %v", err)
			}
		})
	}
}

// A stream stores the documents that the backlog has capacity for. The result of each
// other document says when to send it again.
func TestAStreamOverTheLimitOfTheBacklog(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MaxQueuedDocuments: 3})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	var messages []*ragdv1.UploadDocumentsRequest
	for i := range 5 {
		messages = append(messages, begin(upload(fmt.Sprint(i), "A harbour.")))
	}
	large := bytes.Repeat([]byte("harbour "), 1<<18)
	messages = append(messages, begin(&ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "large"}), part(large), begin(upload("0", "A harbour.")))
	results, err := stream(t, acme, messages...)
	if err != nil || len(results) != 7 {
		t.Fatalf("%v, %v", results, err)
	}
	for i, r := range results {
		if taken := i < 3 || i == 6; taken != (r.Error == nil) {
			t.Errorf("result %d = %v", i, r)
		} else if !taken && (r.Error.Code != "resource_exhausted" || r.Error.RetryDelaySeconds != 2 || r.DocumentId != "") {
			t.Errorf("the refusal %d = %v", i, r.Error)
		}
	}
	if !results[6].Unchanged {
		t.Error("what is there already is taken for new")
	}
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil || len(list.Documents) != 3 {
		t.Errorf("stored are %v, %v", list, err)
	}
}

// A document larger than the limit is accepted when the backlog is empty.
func TestAnEmptyBacklogTakesAnyDocument(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MaxQueuedBytes: 10})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	if _, err := acme.UploadDocument(t.Context(), upload("a", strings.Repeat("x", 100))); err != nil {
		t.Error(err)
	}
}
