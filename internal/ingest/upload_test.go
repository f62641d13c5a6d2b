package ingest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func upload(uri, body string) *ragdv1.UploadDocumentRequest {
	return &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text(body)}
}

// fixture is a tenant with an index whose embeddings come from a fake provider.
type fixture struct {
	servicetest.Client
	service  *servicetest.Service
	provider *modelserver.Server
}

func setup(t *testing.T) fixture {
	t.Helper()
	fake := modelserver.New(t)
	s := servicetest.New(t, service.Config{Providers: service.Providers{
		OpenAI: endpoint.Config{BaseURL: fake.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1, MinWait: time.Millisecond},
	}})
	acme := s.Tenant(t, "acme")
	_, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"})
	if err != nil {
		t.Fatal(err)
	}
	return fixture{acme, s, fake}
}

// found returns the texts that keyword search finds for a word.
func (f fixture) found(t *testing.T, word string) []string {
	t.Helper()
	res, err := f.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: word, SearchMode: "keyword"})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, source := range res.Sources {
		texts = append(texts, source.Document)
	}
	return texts
}

func (f fixture) counts(t *testing.T) [4]int32 {
	t.Helper()
	i, err := f.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	return [4]int32{i.Count, i.DocumentCount, i.PendingDocumentCount, i.FailedDocumentCount}
}

func TestTheSameBytesAgainChangeNothing(t *testing.T) {
	t.Parallel()
	f := setup(t)
	first := f.Upload(t, upload("a", "one harbour"))
	asked := len(f.provider.Requests())
	again, err := f.UploadDocument(t.Context(), upload("a", "one harbour"))
	if err != nil {
		t.Fatal(err)
	}
	if again.Document.DocumentId != first.DocumentId || again.Document.Version != 1 || again.Document.Status != "ready" || again.Job.Status != "succeeded" {
		t.Errorf("the second answer = %v", again)
	}
	if len(f.provider.Requests()) != asked {
		t.Error("it was embedded again")
	}
	if jobs, err := f.ListJobs(t.Context(), &ragdv1.ListJobsRequest{}); err != nil || len(jobs.Jobs) != 1 {
		t.Errorf("jobs = %v, %v", jobs, err)
	}
}

func TestANewVersionReplacesTheOldOneWhole(t *testing.T) {
	t.Parallel()
	f := setup(t)
	old := f.Upload(t, upload("a", strings.Repeat("The old harbour stands here. ", 200)))
	if old.ChunkCount < 2 {
		t.Fatalf("the old version has %d chunks", old.ChunkCount)
	}
	d := f.Upload(t, upload("a", "A new quarry."))
	if d.DocumentId != old.DocumentId || d.Version != 2 || d.ChunkCount != 1 {
		t.Errorf("the new version = %v", d)
	}
	if got := f.found(t, "harbour"); len(got) != 0 {
		t.Errorf("the old text is still found: %q", got)
	}
	if got := f.found(t, "quarry"); len(got) != 1 {
		t.Errorf("the new text is not found: %q", got)
	}
	if got := f.counts(t); got != [4]int32{1, 1, 0, 0} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
}

func TestAFailedVersionLeavesTheGoodOneSearchable(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Upload(t, upload("a", "The good harbour."))
	f.provider.Set(modelserver.Fault{Status: http.StatusUnauthorized, Body: `{"error": {"message": "key ` + modelserver.Key + ` is not valid"}}`})
	d := f.Upload(t, upload("a", "A bad quarry."))
	if d.Status != "failed" || d.Error == "" {
		t.Errorf("the failed document = %v", d)
	}
	if strings.Contains(d.Error, modelserver.Key) || strings.Contains(d.Error, f.provider.URL) {
		t.Errorf("the reason tells a secret: %s", d.Error)
	}
	if got := f.found(t, "harbour"); len(got) != 1 {
		t.Errorf("the good version is gone: %q", got)
	}
	if got := f.counts(t); got != [4]int32{1, 0, 0, 1} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
	f.provider.Set(modelserver.Fault{})
	if d := f.Upload(t, upload("a", "A bad quarry.")); d.Status != "ready" || d.Error != "" {
		t.Errorf("uploaded again = %v", d)
	}
	if got := f.counts(t); got != [4]int32{1, 1, 0, 0} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
}

func TestATransientErrorIsRetried(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.provider.Set(modelserver.Fault{Status: http.StatusInternalServerError, Times: 2})
	d := f.Upload(t, upload("a", "A patient harbour."))
	if d.Status != "ready" || d.Error != "" {
		t.Errorf("document = %v", d)
	}
	jobs, err := f.ListJobs(t.Context(), &ragdv1.ListJobsRequest{})
	if err != nil || jobs.Jobs[0].Attempts != 3 {
		t.Errorf("jobs = %v, %v", jobs, err)
	}
}

// If a document is deleted or replaced while it is being embedded, the result is dropped.
func TestAnObsoleteVersionIsNotStored(t *testing.T) {
	t.Parallel()
	f := setup(t)
	answer := make(chan struct{})
	f.provider.Set(modelserver.Fault{Hang: true, Until: answer})
	slow := map[string]*ragdv1.UploadDocumentResponse{}
	for _, uri := range []string{"deleted", "replaced"} {
		res, err := f.UploadDocument(t.Context(), upload(uri, "The slow harbour."))
		if err != nil {
			t.Fatal(err)
		}
		slow[uri] = res
	}
	f.awaitRunning(t, slow["deleted"].Job.JobId, slow["replaced"].Job.JobId)
	wait.For(t, "both embeddings", func() bool { return len(f.provider.InFlight()) == 2 })
	f.provider.Set(modelserver.Fault{})
	if _, err := f.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "deleted"}); err != nil {
		t.Fatal(err)
	}
	if d := f.Upload(t, upload("replaced", "The quick quarry.")); d.Status != "ready" || d.Version != 2 {
		t.Errorf("the replacement = %v", d)
	}
	close(answer)
	f.passWorkers(t)
	if got := f.found(t, "harbour"); len(got) != 0 {
		t.Errorf("overtaken text is found: %q", got)
	}
	if got := f.counts(t); got != [4]int32{1, 1, 0, 0} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
	for uri, res := range slow {
		if job, err := f.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: res.Job.JobId}); err != nil || job.Status != "cancelled" {
			t.Errorf("the job of the %s document = %v, %v", uri, job, err)
		}
	}
}

// passWorkers waits until the provider has answered all requests, and until a document of another
// index has passed the workers after that.
func (f fixture) passWorkers(t *testing.T) {
	t.Helper()
	f.provider.AwaitIdle(t)
	if _, err := f.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "later", EmbeddingModel: "openai/some-model"}); err != nil {
		t.Fatal(err)
	}
	f.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "later", Uri: "later", Source: servicetest.Text("A later lighthouse.")})
}

func (f fixture) awaitRunning(t *testing.T, jobIDs ...string) {
	t.Helper()
	for _, id := range jobIDs {
		wait.For(t, "job "+id+" to run", func() bool {
			job, err := f.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: id})
			if err != nil {
				t.Fatal(err)
			}
			return job.Status == "running"
		})
	}
}

func TestWatchEndsWithTheJob(t *testing.T) {
	t.Parallel()
	f := setup(t)
	answer := make(chan struct{})
	f.provider.Set(modelserver.Fault{Hang: true, Until: answer})
	res, err := f.UploadDocument(t.Context(), upload("a", "A watched harbour."))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := f.WatchJob(ctx, &ragdv1.WatchJobRequest{JobId: res.Job.JobId})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for stream.Receive() {
		if seen = append(seen, stream.Msg().Status); len(seen) == 1 {
			close(answer)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(seen) < 2 || seen[len(seen)-1] != "succeeded" {
		t.Errorf("seen = %v", seen)
	}
}

func TestChunksHaveTheirPositionInTheDocument(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var body strings.Builder
	for i := range 60 {
		fmt.Fprintf(&body, "Paragraph %d tells of a häven and its boats.\n\n", i)
	}
	source := body.String()
	req := upload("a.txt", source)
	size, overlap := int32(300), int32(50)
	req.Chunking = &ragdv1.Chunking{Strategy: "recursive", MaxSize: &size, Overlap: &overlap}
	d := f.Upload(t, req)
	var token string
	seen, line := 0, 0
	for {
		res, err := f.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId, PageSize: 4, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range res.Chunks {
			if int(c.Ordinal) != seen || strings.TrimSpace(source[c.StartByte:c.EndByte]) != c.Text {
				t.Errorf("chunk %d = %v", seen, c)
			}
			at := int(c.Metadata.AsMap()["position"].(map[string]any)["line"].(float64))
			if at <= line-3 || at != strings.Count(source[:c.StartByte], "\n")+1 {
				t.Errorf("chunk %d starts in line %d", seen, at)
			}
			line = at
			seen++
		}
		if token = res.NextPageToken; token == "" {
			break
		}
	}
	if seen != int(d.ChunkCount) || seen < 5 {
		t.Errorf("%d chunks are listed, the document has %d", seen, d.ChunkCount)
	}
}
