package ingest_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func (f fixture) document(t *testing.T, uri string) *ragdv1.Document {
	t.Helper()
	d, err := f.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: uri})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A job is cancelled while its document is being embedded: the last good version stays,
// the new one is not stored, and the job can be retried.
func TestACancelledJobLeavesTheGoodVersion(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Upload(t, upload("a", "The good harbour."))
	answer := make(chan struct{})
	f.provider.Set(modelserver.Fault{Hang: true, Until: answer})
	running, err := f.UploadDocument(t.Context(), upload("a", "The slow quarry."))
	if err != nil {
		t.Fatal(err)
	}
	f.awaitRunning(t, running.Job.JobId)
	wait.For(t, "the embedding", func() bool { return len(f.provider.InFlight()) > 0 })
	var callers sync.WaitGroup
	for range 8 { // cancelling again changes nothing
		callers.Go(func() {
			job, err := f.CancelJob(t.Context(), &ragdv1.CancelJobRequest{JobId: running.Job.JobId})
			if err != nil || job.Status != "cancelled" || job.Error == "" {
				t.Errorf("the cancelled job = %v, %v", job, err)
			}
		})
	}
	callers.Wait()
	if d := f.document(t, "a"); d.Status != "failed" || d.Error != "its processing was cancelled" {
		t.Errorf("its document = %v", d)
	}
	f.provider.Set(modelserver.Fault{})
	close(answer)
	f.passWorkers(t)
	if got := f.found(t, "quarry"); len(got) != 0 {
		t.Errorf("what was cancelled is found: %q", got)
	}
	if got := f.found(t, "harbour"); len(got) != 1 {
		t.Errorf("the good version is gone: %q", got)
	}
	again, err := f.RetryJob(t.Context(), &ragdv1.RetryJobRequest{JobId: running.Job.JobId})
	if err != nil || again.JobId == running.Job.JobId {
		t.Fatalf("RetryJob = %v, %v", again, err)
	}
	if d := f.Await(t, "docs", again.JobId, again.DocumentId); d.Status != "ready" || d.Error != "" {
		t.Errorf("tried again = %v", d)
	}
	if got := f.found(t, "quarry"); len(got) != 1 {
		t.Errorf("tried again, it is not found: %q", got)
	}
	if got := f.counts(t); got != [4]int32{1, 1, 0, 0} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
	_, err = f.CancelJob(t.Context(), &ragdv1.CancelJobRequest{JobId: again.JobId})
	servicetest.WantCode(t, "cancelling a job that succeeded", err, connect.CodeFailedPrecondition)
	_, err = f.RetryJob(t.Context(), &ragdv1.RetryJobRequest{JobId: again.JobId})
	servicetest.WantCode(t, "trying a job again that succeeded", err, connect.CodeFailedPrecondition)
	_, err = f.RetryJob(t.Context(), &ragdv1.RetryJobRequest{JobId: running.Job.JobId})
	servicetest.WantCode(t, "trying a job again whose document went on", err, connect.CodeFailedPrecondition)
}

func TestAFailedJobIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.provider.Set(modelserver.Fault{Status: http.StatusUnauthorized})
	failed, err := f.UploadDocument(t.Context(), upload("a", "A late harbour."))
	if err != nil {
		t.Fatal(err)
	}
	f.Await(t, "docs", failed.Job.JobId, failed.Document.DocumentId)
	f.provider.Set(modelserver.Fault{})
	again, err := f.RetryJob(t.Context(), &ragdv1.RetryJobRequest{JobId: failed.Job.JobId})
	if err != nil {
		t.Fatal(err)
	}
	if d := f.Await(t, "docs", again.JobId, failed.Document.DocumentId); d.Status != "ready" {
		t.Errorf("tried again = %v", d)
	}
	if old, err := f.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: failed.Job.JobId}); err != nil || old.Status != "failed" {
		t.Errorf("the job that failed = %v, %v", old, err)
	}
	_, err = f.RetryJob(t.Context(), &ragdv1.RetryJobRequest{JobId: "no-such"})
	servicetest.WantCode(t, "an unknown job", err, connect.CodeNotFound)
}

// A build can be cancelled only if the index has an older build to use.
func TestABuildIsCancelled(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	ctx := t.Context()
	built, err := acme.BuildIndex(ctx, &ragdv1.BuildIndexRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	cancel := &ragdv1.CancelJobRequest{JobId: built.JobId}
	_, err = acme.CancelJob(ctx, cancel)
	servicetest.WantCode(t, "cancelling the first build", err, connect.CodeFailedPrecondition)
	if _, err := s.Pool.Exec(ctx, `UPDATE tenant_acme.indexes SET built = true`); err != nil {
		t.Fatal(err)
	}
	if job, err := acme.CancelJob(ctx, cancel); err != nil || job.Status != "cancelled" {
		t.Errorf("cancelling another build = %v, %v", job, err)
	}
	if i, err := acme.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: "docs"}); err != nil || i.Status != "ready" {
		t.Errorf("the index = %v, %v", i, err)
	}
	again, err := acme.RetryJob(ctx, &ragdv1.RetryJobRequest{JobId: built.JobId})
	if err != nil || again.JobId == built.JobId || again.Status != "queued" || again.Kind != "build" {
		t.Errorf("RetryJob = %v, %v", again, err)
	}
}

// A caller that watches a job learns that its index was deleted, whether the job was
// running or waiting.
func TestDeletingAnIndexEndsItsJobs(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.provider.Set(modelserver.Fault{Hang: true})
	running, err := f.UploadDocument(t.Context(), upload("a", "A harbour."))
	if err != nil {
		t.Fatal(err)
	}
	f.awaitRunning(t, running.Job.JobId)
	waiting, err := f.UploadDocument(t.Context(), upload("b", "A quarry."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	f.provider.Set(modelserver.Fault{})
	for _, id := range []string{running.Job.JobId, waiting.Job.JobId} {
		job, err := f.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: id})
		if err != nil || job.Status != "cancelled" || job.Error != "the index was deleted" {
			t.Errorf("the job = %v, %v", job, err)
		}
		_, err = f.RetryJob(t.Context(), &ragdv1.RetryJobRequest{JobId: id})
		servicetest.WantCode(t, "trying it again", err, connect.CodeFailedPrecondition)
	}
	if _, err := f.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"}); err != nil {
		t.Fatal(err)
	}
	f.Upload(t, upload("a", "A harbour."))
	if got := f.counts(t); got != [4]int32{1, 1, 0, 0} {
		t.Errorf("the index made again: chunks, ready, pending, failed = %v", got)
	}
}

// An index can be deleted at any time, even during uploads and jobs.
func TestDeletingABusyIndex(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	for round := range 3 {
		acme.Index(t, "docs")
		var uploads sync.WaitGroup
		for u := range 3 {
			uploads.Go(func() {
				for n := range 4 {
					var messages []*ragdv1.UploadDocumentsRequest
					for i := range 100 {
						messages = append(messages, begin(upload(fmt.Sprint(u, n, i), fmt.Sprintf("Harbour %d of %d in %d.", i, n, u))))
					}
					_, _ = stream(t, acme, messages...) // fails when the index is deleted
				}
			})
		}
		wait.For(t, "some documents", func() bool {
			i, err := acme.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
			return err == nil && int(i.DocumentCount+i.PendingDocumentCount) >= 100*(1+2*round)
		})
		if _, err := acme.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "docs"}); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		uploads.Wait()
		list, err := acme.ListJobs(t.Context(), &ragdv1.ListJobsRequest{PageSize: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range list.Jobs {
			if job.Status == "queued" || job.Status == "running" {
				t.Errorf("round %d leaves %v", round, job)
				break
			}
		}
	}
}
