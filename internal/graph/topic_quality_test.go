package graph_test

import (
	"fmt"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// TestTopicQuality reports how often the documents that answer one question together are in
// one topic, and what a global answer covers. docs/explanation/graph.md has the figures.
func TestTopicQuality(t *testing.T) {
	set := dataset.Load(t, "2wikimultihopqa")
	g := newTestGraph(t)
	for i, d := range set.Documents {
		g.upload(t, fmt.Sprint(i), d.Title, d.Text)
	}
	list, err := g.client.ListTopics(t.Context(), &ragdv1.ListTopicsRequest{PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	found, err := data.Select[struct {
		URI     string
		TopicID int32
	}](t.Context(), g.handle, `
		SELECT d.uri, m.topic_id FROM tenant.member AS m JOIN tenant.documents AS d USING (document_id) WHERE m.ordinal = 0`)
	if err != nil {
		t.Fatal(err)
	}
	topic, sizes := map[string]int32{}, map[int32]float64{}
	for _, row := range found {
		topic[row.URI] = row.TopicID
		sizes[row.TopicID]++
	}
	chance := 0.0
	for id, size := range sizes {
		if id != 0 {
			chance += size / float64(len(found)) * size / float64(len(found))
		}
	}
	pairs, together := 0, 0
	for _, q := range set.Questions {
		var relevant []string
		for i := range q.Relevant {
			relevant = append(relevant, fmt.Sprint(i))
		}
		for i, a := range relevant {
			for _, b := range relevant[:i] {
				pairs++
				if topic[a] != 0 && topic[a] == topic[b] {
					together++
				}
			}
		}
	}
	t.Logf("%d topics, modularity %.3f, %d chunks in none; %.3f of %d pairs in one topic, %.3f by chance",
		len(sizes), list.Modularity, list.OtherChunkCount, float64(together)/float64(pairs), pairs, chance)
	for _, question := range []string{"What are these documents about?", "Which films were made by directors who also acted?"} {
		g.coverage(t, question, topic)
	}
}

// coverage logs of how many topics and documents the answers to a question are.
func (g *testGraph) coverage(t *testing.T, question string, topic map[string]int32) {
	t.Helper()
	global, err := g.client.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: question, Scope: "global"})
	if err != nil {
		t.Fatal(err)
	}
	hybrid, err := g.client.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: question})
	if err != nil {
		t.Fatal(err)
	}
	for name, sources := range map[string][]*ragdv1.Source{"global": global.Sources, "hybrid": hybrid.Sources} {
		topics, documents := map[int32]bool{}, map[string]bool{}
		for _, source := range sources {
			topics[topic[source.Uri]] = true
			documents[source.DocumentId] = true
		}
		t.Logf("%s, %s: %d sources of %d documents of %d topics", question, name, len(sources), len(documents), len(topics))
	}
}
