package ingest_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// Documents that are cancelled or deleted before a worker claims them use no capacity of
// the backlog.
func TestCancelledAndDeletedDocumentsLeaveTheBacklogAtOnce(t *testing.T) {
	t.Parallel()
	for name, giveUp := range map[string]func(acme servicetest.Client, waiting *ragdv1.UploadDocumentResponse) error{
		"cancelled": func(acme servicetest.Client, waiting *ragdv1.UploadDocumentResponse) error {
			_, err := acme.CancelJob(t.Context(), &ragdv1.CancelJobRequest{JobId: waiting.Job.JobId})
			return err
		},
		"deleted": func(acme servicetest.Client, _ *ragdv1.UploadDocumentResponse) error {
			_, err := acme.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "a"})
			return err
		},
		"deleted by a filter": func(acme servicetest.Client, _ *ragdv1.UploadDocumentResponse) error {
			_, err := acme.DeleteDocuments(t.Context(), &ragdv1.DeleteDocumentsRequest{IndexName: "docs", Filter: servicetest.Object(t, map[string]any{"team": "red"})})
			return err
		},
		"gone from its source": func(acme servicetest.Client, _ *ragdv1.UploadDocumentResponse) error {
			_, err := acme.SyncSource(t.Context(), &ragdv1.SyncSourceRequest{IndexName: "docs", WholeIndex: true, AllowEmpty: true})
			return err
		},
		"emptied with its index": func(acme servicetest.Client, _ *ragdv1.UploadDocumentResponse) error {
			_, err := acme.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "docs"})
			return err
		},
		"deleted with its index": func(acme servicetest.Client, _ *ragdv1.UploadDocumentResponse) error {
			_, err := acme.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "docs"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{NoWorkers: true, MaxQueuedDocuments: 1})
			acme := s.Tenant(t, "acme")
			acme.Index(t, "docs")
			acme.Index(t, "others")
			req := upload("a", "A harbour.")
			req.Metadata = servicetest.Object(t, map[string]any{"team": "red"})
			waiting, err := acme.UploadDocument(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if err := giveUp(acme, waiting); err != nil {
				t.Fatal(err)
			}
			if n := (fixture{acme, s, nil}).backlog(t); n != 0 {
				t.Errorf("%d are left in the backlog", n)
			}
			for range wait.Poll(t, "room for another, which there is soon after a change to a whole index") {
				_, err := acme.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "others", Source: servicetest.Text("A quarry.")})
				if err == nil {
					break
				}
				if servicetest.WantCode(t, "another upload", err, connect.CodeResourceExhausted); t.Failed() || !strings.Contains(name, "index") {
					t.Fatalf("there is no room for another: %v", err)
				}
			}
		})
	}
}
