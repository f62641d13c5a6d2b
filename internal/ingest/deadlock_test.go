package ingest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// Similar documents share edges, so that two calls that delete some of them delete the same
// rows. Here both wait, in the middle of their deletion, for edges from the first document
// that a third transaction has locked.
func TestDeletingDocumentsThatShareEdgesDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	for n := range 4 { // the ids of documents ascend, and each edge leads to the higher one
		var text strings.Builder
		for i := range 4 {
			fmt.Fprintf(&text, "## The tide %d\n\nThe tide turns the lock of the harbour, copy %d.\n\n", i, n)
		}
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprintf("d%d.md", n), Source: &ragdv1.UploadDocumentRequest_Text{Text: text.String()}})
	}
	locker, err := s.ServicePool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locker.Rollback(context.WithoutCancel(t.Context())) }()
	for _, statement := range []string{`SET LOCAL ROLE tenant_acme`, `
		SELECT FROM tenant_acme.edge_1 WHERE type = 'similar' AND document_id = (SELECT document_id FROM tenant_acme.documents WHERE uri = 'd0.md')
		FOR UPDATE`} {
		if _, err := locker.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var group errgroup.Group
	for _, uris := range [][]string{{"d1.md", "d3.md"}, {"d2.md"}} {
		group.Go(func() error {
			_, err := acme.DeleteDocuments(t.Context(), &ragdv1.DeleteDocumentsRequest{IndexName: "docs", Uris: uris})
			return err
		})
	}
	wait.For(t, "both deletions to wait", func() bool { return pgtest.Waiting(t, s.Pool) >= 2 })
	if err := locker.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
