package graph

import (
	"fmt"
	"testing"
)

// A walk over 200 chunks, each linked with all others, has more edges than are returned: of
// these none is lost by which a chunk is reached.
func TestAnExplanationKeepsTheEdgesOfPaths(t *testing.T) {
	t.Parallel()
	around := &neighborhood{node: map[ChunkRef]int32{}}
	var nodes []int32
	for i := range 200 {
		around.chunks = append(around.chunks, ChunkRef{DocumentID: fmt.Sprintf("%03d", i)})
		around.node[around.chunks[i]] = int32(i)
		nodes = append(nodes, int32(i))
	}
	for i, from := range around.chunks {
		for j, to := range around.chunks {
			weight := 1.0
			if i == 0 { // the seed's edges have the smallest shares of all
				weight = 0.1 + float64(j)/1000
			} else if j == 0 {
				weight = 50
			}
			if i != j {
				around.edges = append(around.edges, chunkEdge{from: from, to: to, kind: Similar, weight: weight})
			}
		}
	}
	paths := newPaths(around, []seed{{around.chunks[0], 1, "found"}}, defaultRestart)
	edges, shown := explainedEdges(around, paths, nodes)
	if len(edges) != maxExplainedEdges || len(shown) != len(edges) {
		t.Fatalf("%d edges, %d positions; want %d", len(edges), len(shown), maxExplainedEdges)
	}
	for _, node := range nodes[1:] {
		i, ok := shown[paths.by[node]]
		if !ok {
			t.Fatalf("the edge that reaches %d is left out", node)
		}
		if edge := edges[i]; edge.To != int(node) || edge.From != 0 {
			t.Errorf("%d is reached by %v", node, edge)
		}
	}
}
