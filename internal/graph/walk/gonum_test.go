package walk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
	"gonum.org/v1/gonum/mat"
)

// copied returns the same graph in gonum's own representation, which refuses
// loops.
func copied(a *Adjacency) *simple.WeightedDirectedGraph {
	g := simple.NewWeightedDirectedGraph(0, 0)
	for v := range a.nodes {
		g.AddNode(simple.Node(v))
	}
	for v := range a.nodes {
		for i := a.first[v]; i < a.first[v+1]; i++ {
			g.SetWeightedEdge(simple.WeightedEdge{F: simple.Node(a.sources[i]), T: simple.Node(v), W: a.shares[i]})
		}
	}
	return g
}

// loopless returns a random graph with sinks and unreachable nodes, without
// edges from a node to itself.
func loopless(random *rand.Rand) (int, []Edge) {
	n, edges := sparse(random)
	return n, slices.DeleteFunc(edges, func(e Edge) bool { return e.From == e.To })
}

func ids(it graph.Nodes) []int64 {
	var out []int64
	for _, n := range graph.NodesOf(it) {
		out = append(out, n.ID())
	}
	slices.Sort(out)
	return out
}

func TestAdjacencyIsAGonumGraph(t *testing.T) {
	t.Parallel()
	for trial := range uint64(50) {
		n, edges := loopless(rand.New(rand.NewPCG(trial, 4)))
		got := NewAdjacency(n, edges, float64(trial%2))
		want := copied(got)
		if !slices.Equal(ids(got.Nodes()), ids(want.Nodes())) {
			t.Fatalf("trial %d: nodes %v", trial, ids(got.Nodes()))
		}
		for u := int64(-1); u <= int64(n); u++ {
			if (got.Node(u) == nil) != (want.Node(u) == nil) {
				t.Fatalf("trial %d: node %d is %v", trial, u, got.Node(u))
			}
			if !slices.Equal(ids(got.From(u)), ids(want.From(u))) || !slices.Equal(ids(got.To(u)), ids(want.To(u))) {
				t.Fatalf("trial %d: node %d has other neighbours", trial, u)
			}
			for v := int64(-1); v <= int64(n); v++ {
				a, okA := got.Weight(u, v)
				b, okB := want.Weight(u, v)
				if okB && want.Node(u) == nil { // for gonum even a node that does not exist is connected to itself
					b, okB = 0, false
				}
				if a != b || okA != okB || got.HasEdgeFromTo(u, v) != want.HasEdgeFromTo(u, v) || got.HasEdgeBetween(u, v) != want.HasEdgeBetween(u, v) {
					t.Fatalf("trial %d: from %d to %d: weight %v, %v, want %v, %v", trial, u, v, a, okA, b, okB)
				}
				if e := got.Edge(u, v); (e != nil) != want.HasEdgeFromTo(u, v) || e != nil && (e.From().ID() != u || e.To().ID() != v) {
					t.Fatalf("trial %d: the edge from %d to %d is %v", trial, u, v, e)
				}
			}
		}
	}
}

func TestNodesCanBeIteratedAgain(t *testing.T) {
	t.Parallel()
	it := NewAdjacency(3, []Edge{{0, 1, 1}, {0, 2, 1}}, 0).From(0)
	for range 2 {
		if it.Len() != 2 || it.Node() != nil || !it.Next() || it.Node().ID() != 1 || it.Len() != 1 || !it.Next() || it.Node().ID() != 2 || it.Next() || it.Next() || it.Len() != 0 || it.Node() != nil {
			t.Fatalf("the iterator is at %v with %d left", it.Node(), it.Len())
		}
		it.Reset()
	}
}

func TestComponentsOfAnAdjacency(t *testing.T) {
	t.Parallel()
	a := NewAdjacency(7, []Edge{{0, 1, 1}, {1, 2, 1}, {2, 0, 1}, {3, 2, 1}, {4, 5, 1}}, 0)
	sizes := func(components [][]graph.Node) (out []int) {
		for _, c := range components {
			out = append(out, len(c))
		}
		slices.Sort(out)
		return out
	}
	if got := sizes(topo.ConnectedComponents(graph.Undirect{G: a})); !slices.Equal(got, []int{1, 2, 4}) {
		t.Errorf("components have %v nodes", got)
	}
	if got := sizes(topo.TarjanSCC(a)); !slices.Equal(got, []int{1, 1, 1, 1, 3}) {
		t.Errorf("strong components have %v nodes", got)
	}
}

// costs is an adjacency with -ln(probability) for weights, so that the shortest
// path is the likeliest.
type costs struct{ *Adjacency }

func (c costs) Weight(u, v int64) (float64, bool) {
	share, ok := c.Adjacency.Weight(u, v)
	if u == v {
		return 0, ok
	}
	return -math.Log(share), ok
}

func TestShortestPathsOnAnAdjacency(t *testing.T) {
	t.Parallel()
	// From 0 straight to 3 with probability 0.2, by 1 and 2 with 0.8·0.75·1.
	a := NewAdjacency(4, []Edge{{0, 1, 8}, {0, 3, 2}, {1, 2, 3}, {1, 0, 1}, {2, 3, 5}}, 0)
	nodes, cost := path.DijkstraFrom(simple.Node(0), costs{a}).To(3)
	var got []int64
	for _, n := range nodes {
		got = append(got, n.ID())
	}
	if want := []int64{0, 1, 2, 3}; !slices.Equal(got, want) || math.Abs(math.Exp(-cost)-0.6) > 1e-12 {
		t.Errorf("the likeliest path is %v with %v, want %v with 0.6", got, math.Exp(-cost), want)
	}
	if _, hops := path.DijkstraFrom(simple.Node(0), unweighted{a}).To(3); hops != 1 {
		t.Errorf("the shortest path has %v edges, want 1", hops)
	}
}

// unweighted hides the weights of a graph.
type unweighted struct{ graph.Directed }

// A walk from all nodes alike is PageRank with damping 1-restart: the restart
// leads to every node with the same probability, as PageRank's jump does, and so
// does a sink, whose rank PageRank spreads over all nodes. gonum takes the weights
// into account where a graph has them.
func TestAWalkFromAllNodesIsPageRank(t *testing.T) {
	t.Parallel()
	for trial := range uint64(30) {
		random := rand.New(rand.NewPCG(trial, 6))
		n, edges := sparse(random)
		seeds := make([]Seed, n)
		for v := range seeds {
			seeds[v] = Seed{int32(v), 3}
		}
		restart := 0.05 + 0.9*random.Float64()
		weighted := NewAdjacency(n, edges, 0)
		once := map[[2]int32]bool{}
		edges = slices.DeleteFunc(edges, func(e Edge) bool {
			pair := [2]int32{e.From, e.To}
			seen := once[pair]
			once[pair] = true
			return seen
		})
		for i := range edges {
			edges[i].Weight = 1
		}
		plain := NewAdjacency(n, edges, 0)
		for _, c := range []struct {
			name string
			a    *Adjacency
			want map[int64]float64
		}{
			{"PageRank of the unweighted graph", plain, network.PageRank(unweighted{plain}, 1-restart, 1e-13)},
			{"PageRank", weighted, network.PageRank(weighted, 1-restart, 1e-13)},
			{"PageRankSparse", weighted, network.PageRankSparse(weighted, 1-restart, 1e-13)},
		} {
			for v, score := range walked(t, c.a, seeds, Options{Restart: restart, Tolerance: 1e-12}) {
				if math.Abs(score-c.want[int64(v)]) > 1e-10 {
					t.Errorf("trial %d: node %d has %v, %s gives %v", trial, v, score, c.name, c.want[int64(v)])
				}
			}
		}
	}
}

// From any seeds s the scores x solve x = r·s + (1-r)·(Pᵀx + (l·x)·s), where r is
// the restart probability, P the probabilities of the edges and l what they lack
// to 1. gonum's PageRank knows no seeds, its linear algebra does.
func TestAWalkSolvesItsEquations(t *testing.T) {
	t.Parallel()
	for trial := range uint64(50) {
		random := rand.New(rand.NewPCG(trial, 7))
		n, edges := sparse(random)
		a := NewAdjacency(n, edges, float64(trial%3))
		seeds := someSeeds(random, n)
		restart := 0.05 + 0.9*random.Float64()

		start := mat.NewVecDense(n, a.start(seeds))
		matrix := mat.NewDense(n, n, nil)
		for v := range n {
			for u := range n {
				p, _ := a.Weight(int64(u), int64(v))
				matrix.Set(v, u, -(1-restart)*p)
			}
			matrix.Set(v, v, 1+matrix.At(v, v))
		}
		leaks := mat.NewVecDense(n, nil)
		for i, v := range a.leaking {
			leaks.SetVec(int(v), a.leaks[i])
		}
		matrix.RankOne(matrix, -(1 - restart), start, leaks)
		var want mat.VecDense
		start.ScaleVec(restart, start)
		if err := want.SolveVec(matrix, start); err != nil {
			t.Fatal(err)
		}
		for v, score := range walked(t, a, seeds, Options{Restart: restart, Tolerance: 1e-12}) {
			if math.Abs(score-want.AtVec(v)) > 1e-11 {
				t.Fatalf("trial %d: node %d has %v, want %v", trial, v, score, want.AtVec(v))
			}
		}
	}
}

// BenchmarkPageRank compares the walk with gonum's sparse PageRank on the same
// graphs, to the same tolerance.
func BenchmarkPageRank(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		a := NewAdjacency(n, randomEdges(rand.New(rand.NewPCG(1, 2)), n, 16), 0)
		seeds := make([]Seed, n)
		for v := range seeds {
			seeds[v] = Seed{int32(v), 1}
		}
		b.Run(fmt.Sprintf("walk/nodes=%d", n), func(b *testing.B) {
			for b.Loop() {
				walked(b, a, seeds, Options{Restart: 0.15, Tolerance: 1e-8})
			}
		})
		b.Run(fmt.Sprintf("gonum/nodes=%d", n), func(b *testing.B) {
			for b.Loop() {
				network.PageRankSparse(a, 0.85, 1e-8)
			}
		})
	}
}
