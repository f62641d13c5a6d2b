// Package bench compares the walk with PageRank as gonum has it, on the same
// random graphs. It is a module of its own, so that the service does not depend
// on gonum.
package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/ragdhq/ragd/internal/graph"
)

const degree = 16

// same returns one random graph in both forms, and seeds that make the walk the
// global PageRank: all nodes alike.
func same(nodes int) (*graph.Adjacency, []graph.Seed, *simple.DirectedGraph) {
	random := rand.New(rand.NewPCG(1, 2))
	theirs := simple.NewDirectedGraph()
	links := make([]graph.Link, 0, nodes*degree)
	seeds := make([]graph.Seed, nodes)
	for v := range nodes {
		theirs.AddNode(simple.Node(v))
		seeds[v] = graph.Seed{Node: int32(v), Weight: 1}
	}
	for from := range nodes {
		for range degree {
			to := random.IntN(nodes)
			if to == from || theirs.HasEdgeFromTo(int64(from), int64(to)) {
				continue
			}
			theirs.SetEdge(simple.Edge{F: simple.Node(from), T: simple.Node(to)})
			links = append(links, graph.Link{From: int32(from), To: int32(to), Weight: 1})
		}
	}
	return graph.NewAdjacency(nodes, links, graph.Shape{}), seeds, theirs
}

func TestBothAgree(t *testing.T) {
	ours, seeds, theirs := same(500)
	got, want := ours.Walk(seeds, graph.Walk{Restart: 0.15}), network.PageRankSparse(theirs, 0.85, 1e-12)
	for v, share := range got {
		if math.Abs(share-want[int64(v)]) > 1e-8 {
			t.Errorf("node %d: %v, gonum has %v", v, share, want[int64(v)])
		}
	}
}

func BenchmarkPageRank(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		ours, seeds, theirs := same(nodes)
		b.Run(fmt.Sprintf("walk/nodes=%d", nodes), func(b *testing.B) {
			for b.Loop() {
				ours.Walk(seeds, graph.Walk{Restart: 0.15, Tolerance: 1e-8})
			}
		})
		b.Run(fmt.Sprintf("gonum/nodes=%d", nodes), func(b *testing.B) {
			for b.Loop() {
				network.PageRankSparse(theirs, 0.85, 1e-8)
			}
		})
	}
}
