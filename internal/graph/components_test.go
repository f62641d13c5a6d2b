package graph

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

func TestComponentsAreCountedAsGonumFindsThem(t *testing.T) {
	t.Parallel()
	for trial := range uint64(50) {
		random := rand.New(rand.NewPCG(trial, 5))
		n := 1 + random.IntN(40)
		got, want := newComponents(n), simple.NewUndirectedGraph()
		chunk := func(ordinal int) ChunkRef { return ChunkRef{"d", ordinal} }
		for i := range n {
			got.add(chunk(i))
			got.add(chunk(i)) // known
			want.AddNode(simple.Node(i))
		}
		for range random.IntN(n + 1) {
			a, b := random.IntN(n), random.IntN(n)
			got.join(chunk(a), chunk(b))
			if a != b {
				want.SetEdge(simple.Edge{F: simple.Node(a), T: simple.Node(b)})
			}
		}
		got.join(chunk(0), chunk(n)) // not added
		if w := len(topo.ConnectedComponents(want)); got.count != w {
			t.Fatalf("trial %d: got %d components, want %d", trial, got.count, w)
		}
	}
}
