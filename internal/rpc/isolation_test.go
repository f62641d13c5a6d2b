package rpc_test

import (
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/servicetest"
)

func TestUploadThenQuery(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, servicetest.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "tides.txt", Title: "Tides",
		Source: &ragdv1.UploadDocumentRequest_Text{Text: "The gate opens two hours before high water."},
	})
	if d.Status != "ready" || d.ChunkCount != 1 {
		t.Fatalf("document = %v", d)
	}
	for _, mode := range []string{"vector", "keyword", "hybrid"} {
		res, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
			IndexName: "docs", QueryText: "when does the gate open", SearchMode: mode, Explain: true,
		})
		if err != nil {
			t.Fatal(mode, err)
		}
		if len(res.Sources) != 1 || res.Sources[0].Uri != "tides.txt" {
			t.Errorf("%s: sources = %v", mode, res.Sources)
		}
		t.Log(mode, res)
	}
}
