package rpc_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Clients of vector stores keep the text of a vector in its metadata.
func TestTextInMetadataStandsForTheDocument(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	if _, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2}); err != nil {
		t.Fatal(err)
	}
	entries := []*ragdv1.Entry{
		{Id: "a", Values: []float32{1, 0}, Metadata: servicetest.Object(t, map[string]any{"text": "the gates of the harbour", "n": 1})},
		{Id: "b", Values: []float32{0, 1}, Metadata: servicetest.Object(t, map[string]any{"text": "garden gates"})},
		{Id: "c", Values: []float32{1, 1}, Metadata: servicetest.Object(t, map[string]any{"text": "harbour"}), Document: "ships at sea"},
		{Id: "d", Values: []float32{1, 2}, Metadata: servicetest.Object(t, map[string]any{"text": 7})},
	}
	if _, err := acme.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "v", Entries: entries}); err != nil {
		t.Fatal(err)
	}
	search := func(question string) *ragdv1.VectorQueryResponse {
		res, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
			QueryText: question, SearchMode: "keyword", Highlight: true, Reranker: &ragdv1.Reranker{Kind: "lexical"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := search("harbour")
	if len(res.Sources) != 1 || res.Sources[0].Id != "a" || res.Sources[0].Document != "the gates of the harbour" ||
		!strings.Contains(res.RelevantContext, "the gates of the harbour") || len(res.Sources[0].Highlight.Matches) != 1 {
		t.Errorf("found %v", res)
	}
	contains, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
		QueryVector: []float32{1, 0}, VectorStoreName: "chroma",
		DatabaseConfig: &ragdv1.DatabaseConfig{Chroma: &ragdv1.ChromaConfig{
			WhereDocument: structpb.NewStructValue(servicetest.Object(t, map[string]any{"$contains": "garden"})),
		}},
	})
	if err != nil || len(contains.Sources) != 1 || contains.Sources[0].Id != "b" {
		t.Errorf("whereDocument finds %v, %v", contains, err)
	}

	// Other metadata are another text, and none is none.
	for _, tc := range []struct {
		metadata map[string]any
		question string
		found    int
	}{{map[string]any{"text": "a tower"}, "tower", 1}, {map[string]any{"text": "a tower"}, "harbour", 0}, {map[string]any{"n": 2}, "tower", 0}} {
		if _, err := acme.Update(t.Context(), &ragdv1.UpdateRequest{IndexName: "v", Id: "a", Metadata: servicetest.Object(t, tc.metadata)}); err != nil {
			t.Fatal(err)
		}
		if res := search(tc.question); len(res.Sources) != tc.found {
			t.Errorf("with %v, %q finds %v", tc.metadata, tc.question, res.Sources)
		}
	}
	if res := search("ships"); len(res.Sources) != 1 || res.Sources[0].Document != "ships at sea" {
		t.Errorf("found %v", res)
	}

	// A vector store returns what was stored.
	stored, err := acme.Query(t.Context(), &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{0, 1}, TopK: new(int32(1))})
	if err != nil || stored.Results[0].Document != "" || stored.Results[0].Metadata.AsMap()["text"] != "garden gates" {
		t.Errorf("stored is %v, %v", stored, err)
	}
}
