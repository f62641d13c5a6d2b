package graph

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/graph/walk"
	"github.com/ragdhq/ragd/internal/tenant"
)

// maxExplained bounds the nodes of an explanation.
const maxExplained = 100

// explainWalk sets the paths of the sources and explains the walk: its best nodes
// and the edges between them.
func (r *run) explainWalk(ctx context.Context, h *tenant.Handle, around *neighborhood, seeds []seed, ranked []walk.Scored) error {
	ranked = ranked[:min(maxExplained, len(ranked))]
	chunks := make([]ChunkRef, len(ranked))
	for i, s := range ranked {
		chunks[i] = around.chunks[s.Node]
	}
	known, err := sourcesOf(ctx, h, r.plan.index, chunks, r.plan.request.Filter, false)
	if err != nil {
		return fmt.Errorf("read the chunks that the walk reached: %w", err)
	}
	title := func(chunk ChunkRef) string {
		source := known[chunk]
		return cmp.Or(source.Title, source.URI, "a chunk")
	}
	sources := r.setPaths(around, seeds, title)
	weights := map[ChunkRef]float64{}
	for _, seed := range seeds {
		weights[seed.ChunkRef] += seed.weight
	}
	shown := map[int32]int{}
	for i, s := range ranked {
		shown[s.Node] = i
		r.explain.Nodes = append(r.explain.Nodes, Node{
			ChunkRef: chunks[i], Title: title(chunks[i]), Score: s.Score, Seed: weights[chunks[i]], Source: sources[chunks[i]],
		})
	}
	shares := around.shares()
	for i, edge := range around.edges {
		from, ok := shown[around.node[edge.from]]
		to, ok2 := shown[around.node[edge.to]]
		if ok && ok2 {
			r.explain.Edges = append(r.explain.Edges, Edge{From: from, To: to, Type: edge.kind, Share: shares[i], Label: edge.label})
		}
	}
	return nil
}

// setPaths sets the path of every source and returns which chunks are sources.
func (r *run) setPaths(around *neighborhood, seeds []seed, title func(ChunkRef) string) map[ChunkRef]bool {
	paths := newPaths(around, seeds, r.plan.walk.Restart)
	sources := map[ChunkRef]bool{}
	for i, source := range r.sources {
		chunk := chunkOf(source.Source)
		sources[chunk] = true
		if node, ok := around.node[chunk]; ok {
			r.sources[i].Path = paths.to(node, title)
		} else {
			r.sources[i].Path = "found by the search"
		}
	}
	return sources
}
