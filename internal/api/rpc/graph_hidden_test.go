package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Answers to a credential with a mandatory filter do not depend on chunks that the filter
// hides: neither on how many of them have a name nor on how many mention it, even beyond
// the limit of edges that a walk without a filter follows.
func TestScoresDoNotRevealHiddenChunks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	open := servicetest.Object(t, map[string]any{"level": "open"})
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: open}))
	visible := director
	visible.metadata = open.AsMap()
	upload(t, c, town, visible, film)

	answer := func(c servicetest.Client) *ragdv1.GraphRagResponse {
		t.Helper()
		res := must(t)(c.GraphRag(t.Context(), ask(filmQuestion)))
		res.Explain.Stages = nil // their durations differ
		for _, node := range res.Explain.Nodes {
			node.DocumentId = ""
		}
		for _, source := range res.Sources {
			source.Id, source.DocumentId = "", ""
		}
		res.QueryId = "" // has sums of the ids
		return res
	}
	alone, whole := answer(limited), answer(c)
	if len(alone.Explain.Edges) < 2 {
		t.Fatalf("the walk took the edges %v", alone.Explain.Edges)
	}
	same := func(when string) {
		t.Helper()
		if diff := cmp.Diff(alone, answer(limited), protocmp.Transform()); diff != "" {
			t.Errorf("%s, the answer differs (-before +after):\n%s", when, diff)
		}
	}
	secret := map[string]any{"level": "secret"}
	upload(t, c, page{"mention", "Diary", "Clio Barnard came to Otley.", secret}, page{"name", "Clio Barnard", "Another.", secret})
	same("with a hidden mention and a hidden name")
	if diff := cmp.Diff(whole, answer(c), protocmp.Transform()); diff == "" {
		t.Error("the unfiltered answer is the same, so this test proves nothing")
	}

	var many strings.Builder
	for i := range 260 {
		fmt.Fprintf(&many, "# Otley\n\nClio Barnard came here on day %d.\n\n", i)
	}
	size, overlap := int32(60), int32(0)
	d := c.Upload(t, &ragdv1.UploadDocumentRequest{
		Uri: "many", Title: "Days", ContentType: "text/markdown", Source: servicetest.Text(many.String()), Metadata: servicetest.Object(t, secret),
		Chunking: &ragdv1.Chunking{Strategy: "markdown", MaxSize: &size, Overlap: &overlap},
	})
	if d.Status != "ready" || d.ChunkCount < 260 {
		t.Fatalf("%s with %d chunks: %s", d.Status, d.ChunkCount, d.Error)
	}
	same("with very many of both")

	if _, err := c.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "main", Uri: "film"}); err != nil {
		t.Fatal(err)
	}
	upload(t, c, film)
	same("with the film uploaded after them")
	again, err := c.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if job := finished(t, c, again.JobId); job.Status != "succeeded" {
		t.Fatalf("the rebuild ended as %v", job)
	}
	same("after a rebuild")
}
