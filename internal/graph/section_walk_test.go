package graph_test

import (
	"fmt"
	"slices"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/graph"
)

// sections returns the edges, as ordinals, from heads of sections to their chunks
// that the walk of a question reaches.
func (g *testGraph) sections(t *testing.T, question string) []string {
	t.Helper()
	res, err := g.client.GraphRag(t.Context(), &ragdv1.GraphRagRequest{
		QueryText: question, SearchMode: "keyword", Explain: true, GraphOptions: &ragdv1.GraphOptions{EdgeTypes: []string{"next"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, edge := range res.Explain.Edges {
		if edge.Words == "heads the section of" {
			out = append(out, fmt.Sprintf("%d-%d", res.Explain.Nodes[edge.From].Ordinal, res.Explain.Nodes[edge.To].Ordinal))
		}
	}
	slices.Sort(out)
	return out
}

func TestHeadsOfSectionsLeadToTheirChunks(t *testing.T) {
	t.Parallel()
	g := newTestGraph(t)
	size, overlap := int32(30), int32(0)
	upload := func(text string) {
		t.Helper()
		d := g.client.Upload(t, &ragdv1.UploadDocumentRequest{
			Uri: "a", Title: "Harbour book", ContentType: "text/markdown", Source: &ragdv1.UploadDocumentRequest_Text{Text: text},
			Chunking: &ragdv1.Chunking{Strategy: "markdown", MaxSize: &size, Overlap: &overlap},
		})
		if d.Status != "ready" {
			t.Fatalf("the document is %s: %s", d.Status, d.Error)
		}
	}
	check := func(when string, want ...string) {
		t.Helper()
		if got := g.sections(t, "What is in the harbour book?"); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
	}
	upload("# Berths\n\nOne for each ship.\n\nTwo for a long ship only.\n\nNone for a raft of logs.\n\n## Dues\n\nPaid at the office.\n\nNever paid in herring.\n\nPaid before the storm.")
	check("at first", "0-2", "0-3", "3-5")
	if err := graph.Rebuild(t.Context(), g.handle, g.index, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	check("after a rebuild", "0-2", "0-3", "3-5")
	// One section less, while the first answer is remembered.
	upload("# Berths\n\nOne for each ship.\n\nTwo for a long ship only.\n\nNone for a raft of logs.")
	check("after a change", "0-2")
	if _, err := g.client.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "main", Uri: "a"}); err != nil {
		t.Fatal(err)
	}
	check("once it is deleted")
}
