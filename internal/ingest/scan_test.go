package ingest_test

import (
	"os"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestScannedDocumentsAreListed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	content, err := os.ReadFile("parse/testdata/scans/scanned.pdf")
	if err != nil {
		t.Fatal(err)
	}
	f.Upload(t, upload("a", "The good harbour."))
	scan := &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "scan", Source: &ragdv1.UploadDocumentRequest_Content{Content: content}}
	sent, err := f.UploadDocument(t.Context(), scan)
	if err != nil {
		t.Fatal(err)
	}
	d := f.Await(t, "docs", sent.Job.JobId, sent.Document.DocumentId)
	if d.Status != "needs_ocr" || !strings.Contains(d.Error, "consists of scanned pages") {
		t.Errorf("the document = %v", d)
	}
	if got := f.counts(t); got != [4]int32{1, 1, 0, 1} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
	for status, want := range map[string]string{"needs_ocr": "scan", "ready": "a", "failed": "", "": "a scan"} {
		listed, err := f.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", Status: status})
		if err != nil {
			t.Fatal(err)
		}
		var uris []string
		for _, d := range listed.Documents {
			uris = append(uris, d.Uri)
		}
		if got := strings.Join(uris, " "); got != want {
			t.Errorf("documents in the state %q: %s, want %s", status, got, want)
		}
	}
	_, err = f.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", Status: "scanned"})
	servicetest.WantCode(t, "listing an unknown state", err, connect.CodeInvalidArgument)
	_, err = f.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{IndexName: "docs", Uri: "scan"})
	servicetest.WantCode(t, "reading it", err, connect.CodeFailedPrecondition)

	again, err := f.RetryJob(t.Context(), &ragdv1.RetryJobRequest{JobId: sent.Job.JobId})
	if err != nil {
		t.Fatal(err)
	}
	if d := f.Await(t, "docs", again.JobId, d.DocumentId); d.Status != "needs_ocr" || d.Version != 2 {
		t.Errorf("tried again = %v", d)
	}
	sent, err = f.UploadDocument(t.Context(), scan)
	if err != nil || sent.Document.Version != 3 {
		t.Errorf("uploaded again = %v, %v; it is read again", sent, err)
	}
}
