package index_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// fixture is a tenant with an index of 8 dimensions, whose embeddings come from a
// fake provider.
type fixture struct {
	servicetest.Client
	service  *servicetest.Service
	provider *modelserver.Server
}

const (
	newModel     = "openai/text-embedding-3-small"
	newDimension = 16
)

func setup(t *testing.T) fixture {
	t.Helper()
	fake := modelserver.New(t)
	s := servicetest.New(t, service.Config{Providers: service.Providers{
		OpenAI: endpoint.Config{BaseURL: fake.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1, MinWait: time.Millisecond},
	}})
	acme := s.Tenant(t, "acme")
	if _, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"}); err != nil {
		t.Fatal(err)
	}
	return fixture{acme, s, fake}
}

func (f fixture) upload(t *testing.T, uri, text string) *ragdv1.Document {
	t.Helper()
	d := f.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: &ragdv1.UploadDocumentRequest_Text{Text: text}})
	if d.Status != "ready" {
		t.Fatalf("document %s = %v", uri, d)
	}
	return d
}

// reembed requests the new model and returns the id of the job.
func (f fixture) reembed(t *testing.T) string {
	t.Helper()
	i, err := f.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", EmbeddingModel: newModel, Dimension: newDimension})
	if err != nil {
		t.Fatal(err)
	}
	if i.ReembedJobId == "" || i.NextEmbeddingModel != newModel || i.Dimension != 8 {
		t.Fatalf("the index = %v", i)
	}
	return i.ReembedJobId
}

// awaitCount waits until the job has counted its documents.
func (f fixture) awaitCount(t *testing.T, jobID string) {
	t.Helper()
	wait.For(t, "job "+jobID+" to count its documents", func() bool {
		job, err := f.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: jobID})
		if err != nil {
			t.Fatal(err)
		}
		return job.GetProgress().GetTotal() > 0
	})
}

// await returns the job when it has ended.
func (f fixture) await(t *testing.T, jobID string) *ragdv1.Job {
	t.Helper()
	var job *ragdv1.Job
	wait.For(t, "the end of job "+jobID, func() bool {
		var err error
		if job, err = f.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: jobID}); err != nil {
			t.Fatal(err)
		}
		return job.Status != "queued" && job.Status != "running"
	})
	return job
}

func (f fixture) describe(t *testing.T) *ragdv1.Index {
	t.Helper()
	i, err := f.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (f fixture) query(mode, text string) ([]*ragdv1.Source, error) {
	res, err := f.VectorQuery(context.Background(), &ragdv1.VectorQueryRequest{
		IndexName: "docs", QueryText: text, SearchMode: mode, IncludeVectors: new(true), TopK: new(int32(3)),
	})
	return res.GetSources(), err
}

// count returns the result of a query for one number.
func (f fixture) count(t *testing.T, sql string) (n int) {
	t.Helper()
	if err := f.service.Pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func text(n int) string { return fmt.Sprintf("Harbour number %d lies in the %dth bay.", n, n) }

// toNewModel accepts requests for the new model.
func toNewModel(r modelserver.Request) bool {
	return r.Body["model"] == strings.TrimPrefix(newModel, "openai/")
}

// embedded returns how many texts the new model was asked to embed.
func (f fixture) embedded() (n int) {
	for _, r := range f.provider.Requests() {
		if inputs, ok := r.Body["input"].([]any); ok && toNewModel(r) {
			n += len(inputs)
		}
	}
	return n
}

// While an index is embedded again, and documents are added, changed and deleted, each
// query uses either the old or the new embeddings.
func TestReembeddingUnderLoad(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const documents = 150
	for n := range documents {
		f.upload(t, fmt.Sprint(n), text(n))
	}
	f.provider.Set(modelserver.Fault{Delay: 100 * time.Millisecond})
	job := f.reembed(t)
	f.awaitCount(t, job) // what is added or deleted later is not counted
	done := make(chan struct{})
	var asking sync.WaitGroup
	var asked atomic.Int64
	for range 2 {
		asking.Go(func() {
			dimension := 8
			for {
				select {
				case <-done:
					return
				default:
				}
				sources, err := f.query("vector", text(3))
				asked.Add(1)
				if err != nil || len(sources) != 3 {
					t.Errorf("a query meanwhile: %d sources, %v", len(sources), err)
					return
				}
				for _, s := range sources {
					if len(s.Vector) != 8 && len(s.Vector) != newDimension || len(s.Vector) < dimension {
						t.Errorf("a vector of %d values after one of %d", len(s.Vector), dimension)
					}
					dimension = max(dimension, len(s.Vector))
				}
			}
		})
	}
	f.upload(t, "new", "A new quarry.")
	f.upload(t, "0", "A changed quarry.")
	f.upload(t, fmt.Sprint(documents-1), "Another changed quarry.")
	for _, uri := range []string{"1", fmt.Sprint(documents - 2)} {
		if _, err := f.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: uri}); err != nil {
			t.Fatal(err)
		}
	}
	if ended := f.await(t, job); ended.Status != "succeeded" || ended.Kind != "reembed" || ended.Progress.Done != documents {
		t.Errorf("the job = %v", ended)
	}
	before := asked.Load()
	wait.For(t, "queries that began after the change", func() bool { return asked.Load() > before+2 || t.Failed() })
	close(done)
	asking.Wait()
	f.provider.Set(modelserver.Fault{})

	i := f.describe(t)
	if i.EmbeddingModel != newModel || i.Dimension != newDimension || i.ReembedJobId != "" || i.NextEmbeddingModel != "" ||
		i.Count != documents-1 || i.DocumentCount != documents-1 || i.PendingDocumentCount != 0 {
		t.Errorf("the index = %v", i)
	}
	if sources, err := f.query("vector", "A changed quarry."); err != nil || sources[0].Uri != "0" || len(sources[0].Vector) != newDimension {
		t.Errorf("the nearest = %v, %v", sources, err)
	}
	f.upload(t, "later", "A later quarry.")
	if sources, err := f.query("keyword", "quarry"); err != nil || len(sources) != 3 {
		t.Errorf("by keyword: %v, %v", sources, err)
	}
	if n := f.count(t, `SELECT count(*) FROM tenant_acme.chunk_1_1`); n != documents {
		t.Errorf("%d chunks, want %d", n, documents)
	}
	if n := f.count(t, `SELECT count(*) FROM pg_class WHERE relname = 'chunk_1' AND relnamespace = 'tenant_acme'::regnamespace`); n != 0 {
		t.Error("the old chunks are still there")
	}
	if n := f.count(t, `SELECT count(*) FROM pg_class WHERE relname = 'reembed_1' AND relnamespace = 'tenant_acme'::regnamespace`); n != 0 {
		t.Error("the table of documents to embed is still there")
	}
	if d, err := f.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "5", Source: &ragdv1.UploadDocumentRequest_Text{Text: text(5)},
	}); err != nil || d.Document.Version != 1 {
		t.Errorf("the same bytes after the switch = %v, %v", d, err)
	}
}

// The edges and the Postgres index are complete before queries use the new embeddings.
func TestReembeddingBuildsThePostgresIndexFirst(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var long strings.Builder
	for n := range 2100 {
		fmt.Fprintf(&long, "%s\n\n", text(n))
	}
	size, overlap := int32(50), int32(0)
	f.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "long.txt", Source: &ragdv1.UploadDocumentRequest_Text{Text: long.String()},
		Chunking: &ragdv1.Chunking{Strategy: "recursive", MaxSize: &size, Overlap: &overlap},
	})
	chunks := f.describe(t).Count
	if chunks < 2000 {
		t.Fatalf("%d chunks", chunks)
	}
	wait.For(t, "the scale of scores to be measured", func() bool {
		return f.count(t, `SELECT count(*) FROM tenant_acme.indexes WHERE scale ? 'near'`) == 1
	})
	if job := f.await(t, f.reembed(t)); job.Status != "succeeded" {
		t.Fatalf("the job = %v", job)
	}
	// The weight of terms does not depend on the model: searches trust it also until similarities are measured.
	if n := f.count(t, `SELECT count(*) FROM tenant_acme.indexes WHERE (scale->>'match')::float8 > 0 AND (scale->>'chunks')::bigint > 2000`); n != 1 {
		t.Error("the weight of terms is forgotten")
	}
	if n := f.count(t, `SELECT count(*) FROM tenant_acme.indexes WHERE built AND search_width > 0`); n != 1 {
		t.Error("the index has no Postgres index")
	}
	if n := f.count(t, `SELECT count(*) FROM pg_indexes WHERE indexname = 'embedding_1_1' AND tablename = 'chunk_1_1'`); n != 1 {
		t.Error("the Postgres index has another name")
	}
	if sources, err := f.query("vector", text(77)); err != nil || sources[0].Document != text(77) {
		t.Errorf("the nearest = %v, %v", sources, err)
	}
	if n := f.describe(t).Graph.Similarities; n == 0 {
		t.Error("nothing is linked to what is near")
	}
	if _, err := f.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "long.txt"}); err != nil {
		t.Fatal(err)
	}
	if n := f.count(t, `SELECT count(*) FROM tenant_acme.edge_1`); n != 0 {
		t.Errorf("%d edges outlive their document", n)
	}
}

func TestACancelledReembeddingLeavesTheIndexAsItWas(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.upload(t, "a", text(1))
	f.provider.Set(modelserver.Fault{Hang: true, When: toNewModel})
	job := f.reembed(t)
	wait.For(t, "a text for the new model", func() bool { return f.embedded() > 0 })
	_, err := f.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "docs"})
	servicetest.WantCode(t, "emptying the index meanwhile", err, connect.CodeFailedPrecondition)
	_, err = f.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/text-embedding-3-large"})
	servicetest.WantCode(t, "yet another model meanwhile", err, connect.CodeFailedPrecondition)
	if again := f.reembed(t); again != job {
		t.Errorf("asked again, the job is %s and not %s", again, job)
	}
	if ended, err := f.CancelJob(t.Context(), &ragdv1.CancelJobRequest{JobId: job}); err != nil || ended.Status != "cancelled" {
		t.Fatalf("cancelled = %v, %v", ended, err)
	}
	f.provider.Set(modelserver.Fault{})
	if i := f.describe(t); i.Dimension != 8 || i.ReembedJobId != "" || i.Count != 1 {
		t.Errorf("the index = %v", i)
	}
	if n := f.count(t, `SELECT count(*) FROM pg_class WHERE relname LIKE 'chunk_1_1%' AND relnamespace = 'tenant_acme'::regnamespace AND relkind = 'r'`); n != 0 {
		t.Error("what was made is still there")
	}
	f.upload(t, "b", text(2))
	if sources, err := f.query("vector", text(2)); err != nil || sources[0].Uri != "b" || len(sources[0].Vector) != 8 {
		t.Errorf("the nearest = %v, %v", sources, err)
	}
	if n := f.count(t, `SELECT count(*) FROM pg_class WHERE relname = 'reembed_1' AND relnamespace = 'tenant_acme'::regnamespace`); n != 0 {
		t.Error("the table of documents to embed is still there")
	}
}

// An interrupted job continues where it was.
func TestReembeddingContinuesWhereItWas(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const documents = 200
	for n := range documents {
		f.upload(t, fmt.Sprint(n), text(n))
	}
	asked := 0
	f.provider.Set(modelserver.Fault{Status: http.StatusInternalServerError, Times: 1, When: func(r modelserver.Request) bool {
		if toNewModel(r) {
			asked++
		}
		return asked == 3
	}})
	job := f.await(t, f.reembed(t))
	if job.Status != "succeeded" || job.Attempts != 2 || job.Progress.Done != documents {
		t.Errorf("the job = %v", job)
	}
	if n := f.embedded(); n > documents+64 {
		t.Errorf("%d texts were embedded, for %d chunks", n, documents)
	}
	if n := f.count(t, `SELECT count(*) FROM tenant_acme.chunk_1_1`); n != documents {
		t.Errorf("%d chunks, want %d", n, documents)
	}
}

func TestInvalidReembeddingsAreRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ctx := t.Context()
	same := &ragdv1.UpdateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"}
	if i, err := f.UpdateIndex(ctx, same); err != nil || i.ReembedJobId != "" {
		t.Errorf("the same model = %v, %v", i, err)
	}
	_, err := f.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: "docs", Dimension: 4})
	servicetest.WantCode(t, "a dimension alone", err, connect.CodeInvalidArgument)
	_, err = f.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "docs", Entries: []*ragdv1.Entry{{Values: []float32{1, 0, 0, 0, 0, 0, 0, 0}}}})
	if err != nil {
		t.Fatal(err)
	}
	change := &ragdv1.UpdateIndexRequest{IndexName: "docs", EmbeddingModel: newModel, Dimension: newDimension}
	_, err = f.UpdateIndex(ctx, change)
	servicetest.WantCode(t, "ready-made vectors", err, connect.CodeFailedPrecondition)
	bolt := f.service.Tenant(t, "bolt")
	_, err = bolt.UpdateIndex(ctx, change)
	servicetest.WantCode(t, "another tenant's index", err, connect.CodeNotFound)
	reader := f.service.Client(f.service.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	_, err = reader.UpdateIndex(ctx, change)
	servicetest.WantCode(t, "a reader", err, connect.CodePermissionDenied)
}
