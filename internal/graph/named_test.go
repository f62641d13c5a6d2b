package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// A heading that very many chunks have must not keep out what a question names
// beside it, wherever that stands among the keys.
func TestAFrequentNameDoesNotStarveRareOnes(t *testing.T) {
	t.Parallel()
	g := newTestGraph(t)
	var many strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&many, "# Harbour dues\n\nOn day %d nobody paid.\n\n", i)
	}
	size, overlap := int32(40), int32(0)
	d := g.client.Upload(t, &ragdv1.UploadDocumentRequest{
		Uri: "dues", Title: "Days", ContentType: "text/markdown", Source: &ragdv1.UploadDocumentRequest_Text{Text: many.String()},
		Chunking: &ragdv1.Chunking{Strategy: "markdown", MaxSize: &size, Overlap: &overlap},
	})
	if d.Status != "ready" || d.ChunkCount < 1200 {
		t.Fatalf("%s with %d chunks: %s", d.Status, d.ChunkCount, d.Error)
	}
	titles := []string{"Reef knot", "Watch bell", "Long splice", "Bilge pump", "Storm jib", "Boat hook"}
	for _, title := range titles {
		g.upload(t, title, title, "It is here.")
	}
	question := "Which harbour dues are there for " + strings.Join(titles, ", ") + "?"
	res, err := g.client.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: question, SearchMode: "keyword", Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, node := range res.Explain.Nodes {
		if node.Seed >= 4 {
			named = append(named, node.Title)
		}
	}
	slices.Sort(named)
	slices.Sort(titles)
	if !slices.Equal(named, titles) {
		t.Errorf("named are %v, want %v", named, titles)
	}
}
