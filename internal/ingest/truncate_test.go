package ingest_test

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// wantWhole waits until no document is pending, and fails unless each document of the index has
// its chunks and the counts of the index are those of its documents.
func wantWhole(t *testing.T, c servicetest.Client) {
	t.Helper()
	var list *ragdv1.ListDocumentsResponse
	wait.For(t, "the documents to be ready", func() bool {
		var err error
		if list, err = c.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", PageSize: 1000}); err != nil {
			t.Fatal(err)
		}
		pending := 0
		for _, d := range list.Documents {
			if d.Status != "ready" {
				pending++
			}
		}
		return pending == 0
	})
	for _, d := range list.Documents {
		chunks, err := c.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId})
		if err != nil || len(chunks.Chunks) != 1 {
			t.Errorf("%s is ready with %d chunks, %v; want one", d.Uri, len(chunks.GetChunks()), err)
		}
	}
	i, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	if n := int32(len(list.Documents)); i.Count != n || i.DocumentCount != n || i.PendingDocumentCount != 0 || i.FailedDocumentCount != 0 {
		t.Errorf("the index counts %d chunks, %d ready, %d pending and %d failed documents; it has %d", i.Count, i.DocumentCount, i.PendingDocumentCount, i.FailedDocumentCount, n)
	}
}

// While an index is emptied, which here waits for a document that another transaction has locked,
// a new document may be uploaded. It is deleted with the others, or it is stored afterwards.
func TestAnUploadWhileAnIndexIsEmptiedIsWholeOrAbsent(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	acme.Upload(t, upload("a", "A harbour."))
	locker, err := s.ServicePool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locker.Rollback(context.WithoutCancel(t.Context())) }()
	for _, statement := range []string{`SET LOCAL ROLE tenant_acme`, `SELECT FROM tenant_acme.documents FOR NO KEY UPDATE`} {
		if _, err := locker.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var emptied, uploaded errgroup.Group
	emptied.Go(func() error {
		_, err := acme.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "docs"})
		return err
	})
	wait.For(t, "the index to wait for the lock", func() bool { return pgtest.Waiting(t, s.Pool) >= 1 })
	done := make(chan struct{})
	uploaded.Go(func() error {
		defer close(done)
		res, err := acme.UploadDocument(t.Context(), upload("b", "A lighthouse."))
		if err == nil {
			acme.Await(t, "docs", res.Job.JobId, res.Document.DocumentId)
		}
		return err
	})
	wait.For(t, "the upload to be stored, or to wait", func() bool {
		select {
		case <-done:
			return true
		default:
			return pgtest.Waiting(t, s.Pool) >= 2
		}
	})
	if err := locker.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, group := range []*errgroup.Group{&emptied, &uploaded} {
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	}
	wantWhole(t, acme)
}

// An index is emptied again and again while clients upload and replace documents of it.
func TestUploadsWhileAnIndexIsEmptiedAreWholeOrAbsent(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	ctx, cancel := context.WithCancel(t.Context())
	var writers errgroup.Group
	for writer := range 4 {
		writers.Go(func() error {
			for n := 0; ctx.Err() == nil; n++ {
				if _, err := acme.UploadDocument(t.Context(), upload(fmt.Sprintf("%d-%d", writer, n%5), fmt.Sprintf("Harbour %d of %d.", n, writer))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for range 20 {
		if _, err := acme.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "docs"}); err != nil {
			t.Error(err)
		}
	}
	cancel()
	if err := writers.Wait(); err != nil {
		t.Error(err)
	}
	wantWhole(t, acme)
}
