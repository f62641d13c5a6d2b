package rpc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestFrontMatterIsMetadataOfTheChunks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	const front = "---\ntitle: The tides\nteam: harbour\nyear: 2024\ntags: [sea, moon]\nheadings: mine\n---\n"
	text := front + "# High water\n\nHigh water is at six.\n"
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "a.md", Metadata: servicetest.Object(t, map[string]any{"team": "legal"}),
		Source: &ragdv1.UploadDocumentRequest_Text{Text: text},
	})
	if d.Title != "The tides" || d.Status != "ready" {
		t.Errorf("the document is %v", d)
	}
	stored, err := acme.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId})
	if err != nil || len(stored.Chunks) != 1 {
		t.Fatalf("%v, %v", stored, err)
	}
	c := stored.Chunks[0]
	if strings.Contains(c.Text, "harbour") || text[c.StartByte:c.EndByte] != c.Text {
		t.Errorf("the chunk is %q, its bytes are %q", c.Text, text[c.StartByte:c.EndByte])
	}
	want := map[string]any{
		"title": "The tides", "team": "legal", "year": 2024., "tags": []any{"sea", "moon"}, "headings": []any{"High water"},
		"position": map[string]any{"line": 8., "lineEnd": 10., "section": "High water"},
	}
	if diff := cmp.Diff(want, c.Metadata.AsMap()); diff != "" {
		t.Errorf("metadata (-want +got)\n%s", diff)
	}
	for filter, found := range map[string]int{`{"year": {"$gt": 2020}, "tags": {"$in": ["moon"]}}`: 1, `{"team": "harbour"}`: 0} {
		res, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "high water", Filter: structpb.NewStringValue(filter)})
		if err != nil || len(res.Sources) != found {
			t.Errorf("%s finds %d, %v, want %d", filter, len(res.GetSources()), err, found)
		}
	}
	// Content does not give access, whatever its front matter says.
	red := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"year": 2024})}))
	res, err := red.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "high water"})
	if err != nil || len(res.Sources) != 0 {
		t.Errorf("a mandatory filter matched front matter: %v, %v", res, err)
	}
	broken := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "b.md", Source: &ragdv1.UploadDocumentRequest_Text{Text: "---\na: [1\n---\nLow water."}})
	stored, err = acme.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: broken.DocumentId})
	if err != nil || !strings.HasPrefix(stored.GetChunks()[0].GetText(), "---") {
		t.Fatalf("%v, %v", stored, err)
	}
	said := stored.Chunks[0].Metadata.AsMap()["file"].(map[string]any)["frontMatterError"]
	if !strings.Contains(said.(string), "is not valid YAML: line") {
		t.Errorf("it says %v", said)
	}
}
