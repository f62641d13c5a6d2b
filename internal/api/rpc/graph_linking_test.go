package rpc_test

import (
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// Similarity edges are found with an HNSW index only. An index that becomes HNSW links
// its chunks, whatever its type was before and whether or not it was built.
func TestChangingTheIndexTypeToHNSWLinksSimilarChunks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	for name, steps := range map[string][]string{
		"flat-hnsw":                 {"flat", "hnsw"},
		"ivfflat-hnsw":              {"ivfflat", "hnsw"},
		"ivfflat-built-hnsw":        {"ivfflat", "build", "hnsw"},
		"hnsw-flat-hnsw":            {"hnsw", "flat", "hnsw"},
		"hnsw-built-ivfflat-hnsw":   {"hnsw", "build", "ivfflat", "hnsw"},
		"ivfflat-built-hnsw-change": {"ivfflat", "build", "hnsw", "hnsw"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.Tenant(t, name)
			config := &ragdv1.IndexConfig{Type: steps[0]}
			if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "main", IndexConfig: config}); err != nil {
				t.Fatal(err)
			}
			for i, step := range steps[1:] {
				if i == len(steps)-2 { // the step before the last
					upload(t, c, page{"a", "Ropes", "A long rope is spliced by hand at the quay.", nil}, page{"b", "Rope", "A long rope is spliced by hand at the pier.", nil})
				}
				if step != "build" {
					if _, err := c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "main", IndexConfig: &ragdv1.IndexConfig{Type: step}}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				built, err := c.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "main"})
				if err != nil {
					t.Fatal(err)
				}
				if job := finished(t, c, built.JobId); job.Status != "succeeded" {
					t.Fatalf("the build ended as %v", job)
				}
			}
			wait.For(t, "the one similarity", func() bool { return graphOf(t, c).Similarities == 1 })
		})
	}
}
