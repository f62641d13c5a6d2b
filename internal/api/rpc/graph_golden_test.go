package rpc_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// goldenGraph is a file of internal/graph/walk/testdata; its README describes the fields.
type goldenGraph struct {
	Graph struct {
		Dimension int32   `json:"dimension"`
		Threshold float64 `json:"threshold"`
	} `json:"graph"`
	Nodes []struct {
		ID       string         `json:"id"`
		Metadata map[string]any `json:"metadata"`
		Vector   []float32      `json:"vector"`
	} `json:"nodes"`
	Queries []struct {
		Name   string    `json:"name"`
		Vector []float32 `json:"vector"`
		Params struct {
			TopK    int32          `json:"topK"`
			Steps   int32          `json:"randomWalkSteps"`
			Restart float64        `json:"restartProb"`
			Filter  map[string]any `json:"filter"`
		} `json:"params"`
		Expected []struct {
			ID    string  `json:"id"`
			Score float64 `json:"score"`
		} `json:"expected_finite"`
	} `json:"queries"`
}

// Scores over the candidate graph equal the golden scores to 1e-6, because the service
// stores embeddings as 32-bit floats. The calculation itself is tested to 1e-9 in
// internal/graph.
func TestCandidateGraphScoresMatchTheGoldenGraphs(t *testing.T) {
	t.Parallel()
	const tolerance = 1e-6
	c := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	for _, name := range []string{"clusters", "bridges-filter"} {
		data, err := os.ReadFile("../../graph/walk/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var golden goldenGraph
		if err := json.Unmarshal(data, &golden); err != nil {
			t.Fatal(err)
		}
		vectors(t, c, &ragdv1.CreateIndexRequest{IndexName: name, Dimension: golden.Graph.Dimension})
		var entries []*ragdv1.Entry
		for _, node := range golden.Nodes {
			entries = append(entries, &ragdv1.Entry{Id: node.ID, Values: node.Vector, Metadata: servicetest.Object(t, node.Metadata)})
		}
		upsert(t, c, &ragdv1.UpsertRequest{IndexName: name, Entries: entries})
		for _, q := range golden.Queries {
			res, err := c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{
				IndexName: name, QueryVector: q.Vector, TopK: &q.Params.TopK, Filter: value(t, q.Params.Filter),
				GraphOptions: &ragdv1.GraphOptions{
					Candidates: 1000, Threshold: &golden.Graph.Threshold, RandomWalkSteps: &q.Params.Steps, RestartProb: &q.Params.Restart,
				},
			})
			what := fmt.Sprintf("%s/%s", name, q.Name)
			if err != nil || len(res.Sources) != int(min(q.Params.TopK, int32(len(q.Expected)))) {
				t.Fatalf("%s: %d sources, error %v", what, len(res.GetSources()), err)
			}
			for i, source := range res.Sources {
				if want := q.Expected[i]; source.Id != want.ID || math.Abs(source.Score-want.Score) > tolerance {
					t.Errorf("%s: result %d is %s with %.9f, want %s with %.9f", what, i, source.Id, source.Score, want.ID, want.Score)
				}
			}
		}
	}
}
