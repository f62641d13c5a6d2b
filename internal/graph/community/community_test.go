package community_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/graph"
	gonum "gonum.org/v1/gonum/graph/community"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/ragdhq/ragd/internal/graph/community"
)

// undirected returns edges as a graph of gonum.
func undirected(edges []community.Edge) *simple.WeightedUndirectedGraph {
	g := simple.NewWeightedUndirectedGraph(0, 0)
	for _, e := range edges {
		if e.A == e.B {
			continue
		}
		weight := float64(e.Weight)
		if old, ok := g.Weight(int64(e.A), int64(e.B)); ok {
			weight += old
		}
		g.SetWeightedEdge(simple.WeightedEdge{F: simple.Node(e.A), T: simple.Node(e.B), W: weight})
	}
	return g
}

func detect(t *testing.T, g *community.Graph, earlier []int32) []int32 {
	t.Helper()
	label, err := community.Detect(t.Context(), g, earlier)
	if err != nil {
		t.Fatal(err)
	}
	return label
}

func TestModularityIsThatOfGonum(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		edges := plant(300, seed)
		g, reference := community.NewGraph(300, edges), undirected(edges)
		label := detect(t, g, nil)
		communities := make([][]graph.Node, 300)
		for u, c := range label {
			communities[c] = append(communities[c], simple.Node(u))
		}
		if got, want := g.Q(label), gonum.Q(reference, communities, 1); math.Abs(got-want) > 1e-6 {
			t.Fatalf("seed %d: Q %v, gonum computes %v", seed, got, want)
		}
		want := gonum.Q(reference, gonum.Modularize(reference, 1, rand.NewPCG(seed, 2)).Communities(), 1)
		if got := g.Q(label); got < want-0.01 {
			t.Errorf("seed %d: Q %v, gonum finds %v", seed, got, want)
		}
	}
}

func TestGroupsAreFound(t *testing.T) {
	t.Parallel()
	const nodes = 5_000 // more than gonum divides alone
	label := detect(t, community.NewGraph(nodes, plant(nodes, 3)), nil)
	for u := range label {
		if label[u] != label[u/100*100] {
			t.Fatalf("node %d is in community %d, the first of its group in %d", u, label[u], label[u/100*100])
		}
	}
	if again := detect(t, community.NewGraph(nodes, plant(nodes, 3)), nil); !slices.Equal(label, again) {
		t.Error("the same graph has other communities")
	}
}

func TestUnusualGraphs(t *testing.T) {
	t.Parallel()
	star := []community.Edge{{A: 0, B: 1, Weight: 1}, {A: 0, B: 2, Weight: 1}, {A: 3, B: 0, Weight: 1}, {A: 4, B: 0, Weight: 1}}
	for _, test := range []struct {
		name  string
		nodes int
		edges []community.Edge
		want  []int32
	}{
		{"nothing", 0, nil, []int32{}},
		{"one node", 1, nil, []int32{0}},
		{"no edges", 3, nil, []int32{0, 1, 2}},
		{"a loop, a zero and NaN", 2, []community.Edge{{Weight: 1}, {B: 1}, {B: 1, Weight: float32(math.NaN())}}, []int32{0, 1}},
		{"a star", 5, star, []int32{0, 0, 0, 0, 0}},
		{"two pairs and one alone", 5, []community.Edge{{A: 4, B: 3, Weight: 2}, {A: 1, B: 0, Weight: 1}, {A: 0, B: 1, Weight: 1}}, []int32{0, 0, 2, 1, 1}},
	} {
		if got := detect(t, community.NewGraph(test.nodes, test.edges), nil); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// What was not touched keeps its community, and the result is nearly as good as anew.
func TestNewNodesJoinEarlierCommunities(t *testing.T) {
	t.Parallel()
	const nodes = 3_000
	g := community.NewGraph(nodes, plant(nodes, 7))
	anew := detect(t, g, nil)
	earlier := slices.Clone(anew)
	for u := 0; u < nodes; u += 20 {
		earlier[u] = community.New
	}
	label := detect(t, g, earlier)
	if got, want := g.Q(label), g.Q(anew); got < want-0.001 {
		t.Errorf("Q %v, anew %v", got, want)
	}
	if got := detect(t, g, anew); !slices.Equal(got, anew) {
		t.Error("without new nodes the communities change")
	}
}

func TestDetectionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := community.Detect(ctx, community.NewGraph(100, plant(100, 1)), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
