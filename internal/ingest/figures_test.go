package ingest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func filterOf(t *testing.T, fields map[string]any) *structpb.Struct {
	t.Helper()
	filter, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	return filter
}

// A figure is found by its caption with the page and the box of its picture; the chunk with the text around it stays.
func TestFiguresAreFoundByTheirCaptions(t *testing.T) {
	t.Parallel()
	server := servicetest.New(t, service.Config{})
	acme := server.Tenant(t, "acme")
	acme.Index(t, "docs")
	content, err := os.ReadFile("parse/testdata/files/figures.pdf")
	if err != nil {
		t.Fatal(err)
	}
	figures := structpb.NewStructValue(filterOf(t, map[string]any{"kind": "figure"}))
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "ferry.pdf", Source: &ragdv1.UploadDocumentRequest_Content{Content: content}})
	own := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "own.html", ContentType: "text/html", Metadata: filterOf(t, map[string]any{"kind": "plan"}),
		Source: &ragdv1.UploadDocumentRequest_Text{Text: "<p>The plan of the ramp.</p><figure><img src=/a.png><figcaption>Ramp at ebb, drawn in ink</figcaption></figure>"},
	})
	question := "the ramp at ebb"
	found, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: question, SearchMode: "keyword", Filter: figures})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, s := range found.Sources {
		texts = append(texts, s.Document)
	}
	if len(texts) == 0 || texts[0] != "Figure 2: Ramp at ebb" {
		t.Fatalf("found %q", texts)
	}
	about := found.Sources[0].Metadata.AsMap()
	figure, _ := about["figure"].(map[string]any)
	box, _ := figure["box"].(map[string]any)
	position, _ := about["position"].(map[string]any)
	left, _ := box["left"].(float64)
	right, _ := box["right"].(float64)
	if position["page"] != 2.0 && position["page"] != 1.0 || figure["caption"] != true || figure["width"] != 96.0 || right-left < 179 || right-left > 181 {
		t.Errorf("metadata %v", about)
	}
	all, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "Whoever brings a cart pays for two", SearchMode: "keyword"})
	if err != nil || len(all.Sources) == 0 || !strings.Contains(all.Sources[0].Document, "Whoever brings") {
		t.Errorf("the text of the page: %v, %v", all, err)
	}
	listed, err := acme.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: own.DocumentId})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, c := range listed.Chunks {
		kinds = append(kinds, c.Metadata.Fields["kind"].GetStringValue())
	}
	if diff := cmp.Diff([]string{"plan", "plan"}, kinds); diff != "" {
		t.Errorf("the uploader's own kind (-want +got)\n%s", diff)
	}
	bolt := server.Tenant(t, "bolt")
	bolt.Index(t, "docs")
	if none, err := bolt.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: question, SearchMode: "keyword", Filter: figures}); err != nil || len(none.Sources) > 0 {
		t.Errorf("another tenant found %v, %v", none, err)
	}
}
