package graph_test

import (
	"fmt"
	"slices"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/graph"
)

// walked returns the uris of the sources that the walk came to.
func (g *testGraph) walked(t *testing.T, question string) []string {
	t.Helper()
	res, err := g.client.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: question, SearchMode: "keyword"})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, source := range res.Sources {
		if source.Score > 0 {
			out = append(out, source.Uri)
		}
	}
	return out
}

func TestRememberedEdgesServeTheirTenantIndexAndVersionAlone(t *testing.T) {
	t.Parallel()
	g := newTestGraph(t)
	g.upload(t, "bell", "Watch bell", "It rings.")
	g.upload(t, "rope", "Long rope", "It holds.")
	list, err := g.client.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]graph.ChunkRef{}
	for _, d := range list.Documents {
		at[d.Uri] = graph.ChunkRef{DocumentID: d.DocumentId}
	}
	counts, err := graph.CountsOf(t.Context(), g.handle, g.index.ID)
	if err != nil {
		t.Fatal(err)
	}
	graphs := g.service.Handlers.Graphs
	graphs.Forge("bolt", g.index.ID, counts.Version, at["bell"], at["rope"])
	graphs.Forge("acme", g.index.ID+1, counts.Version, at["bell"], at["rope"])
	graphs.Forge("acme", g.index.ID, counts.Version-1, at["bell"], at["rope"])
	graphs.Forge("acme", g.index.ID, counts.Version+1, at["bell"], at["rope"])
	if got := g.walked(t, "What is the watch bell?"); !slices.Equal(got, []string{"bell"}) {
		t.Errorf("what is remembered of others leads to %v", got)
	}
	graphs.LimitCache(1 << 20)
	graphs.Forge("acme", g.index.ID, counts.Version, at["bell"], at["rope"])
	if got := g.walked(t, "What is the watch bell?"); !slices.Equal(got, []string{"bell", "rope"}) {
		t.Errorf("what is remembered of this graph leads to %v: the rest proves nothing", got)
	}
	g.upload(t, "knot", "Reef knot", "It ties.")
	if got := g.walked(t, "What is the watch bell?"); !slices.Equal(got, []string{"bell"}) {
		t.Errorf("once the graph has changed, what was remembered leads to %v", got)
	}
}

func TestRememberedEdgesStayWithinTheirBytes(t *testing.T) {
	t.Parallel()
	g := newTestGraph(t)
	const documents, bytes = 12, 3000
	for i := range documents {
		g.upload(t, fmt.Sprintf("d%d", i), fmt.Sprintf("Berth %d-A", i), fmt.Sprintf("After it comes berth %d-A.", i+1))
	}
	graphs := g.service.Handlers.Graphs
	answers := func() (all [][]string) {
		for i := range documents {
			all = append(all, g.walked(t, fmt.Sprintf("Where is berth %d-A?", i)))
		}
		return all
	}
	graphs.LimitCache(1 << 20)
	want := answers()
	if graphs.CacheBytes() <= bytes {
		t.Fatalf("all edges take %d bytes, too few to test anything", graphs.CacheBytes())
	}
	graphs.LimitCache(bytes)
	for range 2 {
		if got := answers(); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("with little memory the answers are %v, want %v", got, want)
		}
		if used := graphs.CacheBytes(); used == 0 || used > bytes {
			t.Errorf("%d bytes are in use, want up to %d", used, bytes)
		}
	}
}
