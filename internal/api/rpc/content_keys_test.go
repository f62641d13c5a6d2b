package rpc_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Metadata that is read from the content neither overrides the uploader's nor decides
// about access.
func TestContentDoesNotDecideAboutAccess(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	object := func(fields map[string]any) *structpb.Struct { return servicetest.Object(t, fields) }
	key := func(scope string, mandatory map[string]any) servicetest.Client {
		return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{scope}, MandatoryFilter: object(mandatory)}))
	}
	red := map[string]any{"team": "red"}
	redOrPublic := key("write", map[string]any{"$or": []any{red, map[string]any{"public": true}}})
	headings := &ragdv1.Chunking{Strategy: "markdown", Headers: []*ragdv1.ChunkingHeader{{Marker: "#", Key: "team"}}}
	sections := &ragdv1.Chunking{Strategy: "html", Sections: []*ragdv1.ChunkingSection{{Path: "section", Key: "team"}}}
	const page = "<html><body><section><h1>blue</h1><p>A planted rumour.</p></section></body></html>"
	const text = "# blue\n\nA planted rumour.\n"
	upload := func(c servicetest.Client, req *ragdv1.UploadDocumentRequest) string {
		t.Helper()
		req.IndexName = "docs"
		return c.Upload(t, req).DocumentId
	}
	upload(key("write", red), &ragdv1.UploadDocumentRequest{Uri: "own", Source: servicetest.Text(text), Metadata: object(red), Chunking: headings})
	planted := upload(redOrPublic, &ragdv1.UploadDocumentRequest{
		Uri: "planted", Source: servicetest.Text(text), Metadata: object(map[string]any{"public": true}), Chunking: headings,
	})
	upload(redOrPublic, &ragdv1.UploadDocumentRequest{
		Uri: "page", Source: servicetest.Text(page), ContentType: "text/html", Metadata: object(map[string]any{"public": true}), Chunking: sections,
	})
	upload(acme, &ragdv1.UploadDocumentRequest{Uri: "anybody", Source: servicetest.Text(text), Chunking: headings})
	upload(acme, &ragdv1.UploadDocumentRequest{
		Uri: "keywords", Source: servicetest.Text("rumour rumour rumour"), Extract: object(map[string]any{"keywords": map[string]any{}}),
	})

	found := func(c servicetest.Client, filter map[string]any) map[string]string {
		t.Helper()
		teams := map[string]string{}
		for _, mode := range []string{"vector", "keyword", "hybrid"} {
			res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "planted rumour", SearchMode: mode, Filter: value(t, filter), Distinct: new(false)})
			if err != nil {
				t.Fatal(err)
			}
			for _, source := range res.Sources {
				teams[source.Uri], _ = source.Metadata.AsMap()["team"].(string)
			}
		}
		walked, err := c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "planted rumour", IndexName: "docs", Filter: value(t, filter), Distinct: new(false)})
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range walked.Sources {
			teams[source.Uri], _ = source.Metadata.AsMap()["team"].(string)
		}
		return teams
	}
	same(t, "all that blue was planted in, for an unfiltered credential", found(acme, map[string]any{"team": "blue"}),
		map[string]string{"planted": "blue", "page": "blue", "anybody": "blue"})
	same(t, "the uploader's value wins", found(acme, red), map[string]string{"own": "red"})
	same(t, "content for the key of blue", found(key("read", map[string]any{"team": "blue"}), nil), map[string]string{})
	same(t, "content for a key with a negated filter", found(key("read", map[string]any{"team": map[string]any{"$ne": "red"}}), nil), map[string]string{})
	same(t, "content for a key of keywords", found(key("read", map[string]any{"excerptKeywords": map[string]any{"$contains": "rumour"}}), nil), map[string]string{})
	if _, ok := found(acme, map[string]any{"excerptKeywords": map[string]any{"$contains": "rumour"}})["keywords"]; !ok {
		t.Error("keywords are not found by a filter of a query")
	}
	described, err := key("read", map[string]any{"team": "blue"}).DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	if err != nil || described.Count != 0 {
		t.Errorf("DescribeIndex for the key of blue = %v, %v", described, err)
	}
	if chunks, err := redOrPublic.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: planted}); err != nil || len(chunks.Chunks) != 0 {
		t.Errorf("ListChunks of a document whose content made a field of the filter = %v, %v", chunks, err)
	}
}
