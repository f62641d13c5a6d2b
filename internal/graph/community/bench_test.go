package community_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ragdhq/ragd/internal/graph/community"
	gonum "gonum.org/v1/gonum/graph/community"
)

// plant returns 16 edges for each node, four of five of them within groups of a hundred.
func plant(nodes int, seed uint64) []community.Edge {
	const degree, size = 16, 100
	random := rand.New(rand.NewPCG(seed, 1))
	edges := make([]community.Edge, 0, nodes*degree)
	for u := range nodes {
		for range degree {
			v := random.IntN(nodes)
			if random.Float64() < 0.8 {
				v = min(u/size*size+random.IntN(size), nodes-1)
			}
			edges = append(edges, community.Edge{A: int32(u), B: int32(v), Weight: 1})
		}
	}
	return edges
}

func BenchmarkDetect(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		edges := plant(nodes, 1)
		for _, groups := range []string{"planted", "random"} {
			if groups == "random" {
				random := rand.New(rand.NewPCG(1, 1))
				for i := range edges {
					edges[i].B = int32(random.IntN(nodes))
				}
			}
			b.Run(fmt.Sprintf("nodes=%d/%s", nodes, groups), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					g := community.NewGraph(nodes, edges)
					label, err := community.Detect(b.Context(), g, nil)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(g.Q(label), "Q")
				}
			})
		}
	}
}

// BenchmarkGonum is for comparison: gonum alone on the same graphs.
func BenchmarkGonum(b *testing.B) {
	for _, nodes := range []int{1_000, 2_000} {
		edges := plant(nodes, 1)
		b.Run(fmt.Sprintf("nodes=%d/planted", nodes), func(b *testing.B) {
			g := undirected(edges)
			b.ReportAllocs()
			for b.Loop() {
				found := gonum.Modularize(g, 1, rand.NewPCG(1, 2)).Communities()
				b.ReportMetric(gonum.Q(g, found, 1), "Q")
			}
		})
	}
}
