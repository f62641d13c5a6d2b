package walk

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// goldenFile is one graph of testdata, see its README.
type goldenFile struct {
	Graph struct {
		Threshold float64 `json:"threshold"`
		Edges     int     `json:"undirected_edge_count"`
	} `json:"graph"`
	Nodes []struct {
		ID       string         `json:"id"`
		Metadata map[string]any `json:"metadata"`
		Vector   []float64      `json:"vector"`
	} `json:"nodes"`
	Queries []struct {
		Name   string    `json:"name"`
		Vector []float64 `json:"vector"`
		Params struct {
			TopK    int            `json:"topK"`
			Steps   int            `json:"randomWalkSteps"`
			Restart float64        `json:"restartProb"`
			Filter  map[string]any `json:"filter"`
		} `json:"params"`
		Finite     []goldenScore `json:"expected_finite"`
		Stationary []goldenScore `json:"expected_stationary"`
	} `json:"queries"`
}

type goldenScore struct {
	ID    string  `json:"id"`
	Score float64 `json:"score"`
}

func TestRankEqualsTheExactExpectation(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"clusters", "bridges-filter"} {
		golden := readGolden(t, name)
		for _, q := range golden.Queries {
			t.Run(name+"/"+q.Name, func(t *testing.T) {
				t.Parallel()
				ids, vectors := golden.matching(q.Params.Filter)
				candidates, err := NewCandidates(t.Context(), vectors, golden.Graph.Threshold)
				if err != nil {
					t.Fatal(err)
				}
				if q.Params.Filter == nil && candidates.adjacency.EdgeCount() != 2*golden.Graph.Edges {
					t.Errorf("got %d edges, want %d in each direction", candidates.adjacency.EdgeCount(), golden.Graph.Edges)
				}
				for mode, want := range map[string]struct {
					steps  int
					scores []goldenScore
				}{"finite": {q.Params.Steps, q.Finite}, "stationary": {0, q.Stationary}} {
					got, err := candidates.Rank(t.Context(), q.Vector, q.Params.TopK, Options{Restart: q.Params.Restart, Steps: want.steps, Tolerance: 1e-15})
					if err != nil {
						t.Fatal(err)
					}
					for i, w := range want.scores {
						g := got[i]
						if ids[g.Node] != w.ID || math.Abs(g.Score-w.Score) > 1e-9*math.Abs(w.Score)+1e-15 {
							t.Fatalf("%s: rank %d is %s with %.16g, want %s with %.16g", mode, i, ids[g.Node], g.Score, w.ID, w.Score)
						}
					}
				}
			})
		}
	}
}

func TestRankRejectsAQuestionOfAnotherDimension(t *testing.T) {
	t.Parallel()
	candidates, err := NewCandidates(t.Context(), [][]float64{{1, 0}, {0, 1}}, 0.7)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := candidates.Rank(t.Context(), []float64{1}, 1, Options{Restart: 0.15, Steps: 10}); err == nil {
		t.Error("no error")
	}
}

// matching returns the ids and vectors of the nodes with these metadata.
func (g goldenFile) matching(filter map[string]any) (ids []string, vectors [][]float64) {
	for _, node := range g.Nodes {
		keep := true
		for key, value := range filter {
			keep = keep && node.Metadata[key] == value
		}
		if keep {
			ids, vectors = append(ids, node.ID), append(vectors, node.Vector)
		}
	}
	return ids, vectors
}

func readGolden(t *testing.T, name string) goldenFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden goldenFile
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	return golden
}
