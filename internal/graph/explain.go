package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ragdhq/ragd/internal/graph/walk"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// maxExplainedEdges bounds the edges of an explanation.
const maxExplainedEdges = 20_000

// explainWalk sets the paths of the sources and explains the walk: its best nodes
// and the edges between them.
func (r *run) explainWalk(ctx context.Context, h *data.Handle, around *neighborhood, seeds []seed, ranked []walk.Scored) error {
	ranked = ranked[:min(r.plan.explained, len(ranked))]
	chunks := make([]ChunkRef, len(ranked))
	for i, s := range ranked {
		chunks[i] = around.chunks[s.Node]
	}
	known, err := sourcesOf(ctx, h, r.plan.index, chunks, r.plan.request.Filter, false)
	if err != nil {
		return fmt.Errorf("read the chunks that the walk reached: %w", err)
	}
	topics, err := r.visibleTopics(ctx, h, chunks)
	if err != nil {
		return fmt.Errorf("read the topics of the chunks that the walk reached: %w", err)
	}
	title := func(chunk ChunkRef) string {
		source := known[chunk]
		return cmp.Or(source.Title, source.URI, "a chunk")
	}
	paths := newPaths(around, seeds, r.plan.walk.Restart)
	sources := r.setPaths(around, paths, title)
	weights := map[ChunkRef]float64{}
	for _, seed := range seeds {
		weights[seed.ChunkRef] += seed.weight
	}
	nodes := make([]int32, len(ranked))
	for i, s := range ranked {
		nodes[i] = s.Node
	}
	var shown map[int32]int
	r.explain.Edges, shown = explainedEdges(around, paths, nodes)
	for i, s := range ranked {
		chunk := chunks[i]
		reachedBy, ok := shown[paths.by[s.Node]]
		if !ok {
			reachedBy = -1
		}
		r.explain.Nodes = append(r.explain.Nodes, Node{
			ChunkRef: chunk, Title: title(chunk), Score: s.Score, Seed: weights[chunk], Source: sources[chunk],
			Path: paths.to(s.Node, title), ReachedBy: reachedBy, TopicID: topics[chunk],
			URI: known[chunk].URI, StartByte: known[chunk].StartByte, EndByte: known[chunk].EndByte,
		})
	}
	return nil
}

// visibleTopics returns the topics of chunks as topicsOfChunks does: none for a caller who
// may not see topics, and before they are found.
func (r *run) visibleTopics(ctx context.Context, h *data.Handle, chunks []ChunkRef) (map[ChunkRef]int32, error) {
	if _, err := requireTopics(ctx); err != nil {
		return nil, nil //nolint:nilerr // the walk may be seen all the same
	}
	state, err := topicsOf(ctx, h, r.plan.index.ID)
	if err != nil || state.Topics == nil {
		return nil, err
	}
	return topicsOfChunks(ctx, h, chunks)
}

// explainedEdges returns the edges between nodes, each an index into nodes, and the
// positions of the neighborhood's edges among them.
func explainedEdges(around *neighborhood, paths *paths, nodes []int32) (edges []Edge, shown map[int32]int) {
	position := make(map[int32]int, len(nodes))
	onPath := make(map[int32]bool, len(nodes))
	for i, node := range nodes {
		position[node] = i
		onPath[paths.by[node]] = true
	}
	var between []int32
	for i, edge := range around.edges {
		_, from := position[around.node[edge.from]]
		_, to := position[around.node[edge.to]]
		if from && to {
			between = append(between, int32(i))
		}
	}
	shares := around.shares()
	if len(between) > maxExplainedEdges {
		rank := func(edge int32) int {
			if onPath[edge] {
				return 1
			}
			return 0
		}
		slices.SortStableFunc(between, func(a, b int32) int {
			return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(shares[b], shares[a]))
		})
		between = between[:maxExplainedEdges]
		slices.Sort(between)
	}
	shown = make(map[int32]int, len(between))
	for i, n := range between {
		edge := around.edges[n]
		shown[n] = i
		edges = append(edges, Edge{
			From: position[around.node[edge.from]], To: position[around.node[edge.to]], Type: edge.kind, Share: shares[n], Label: edge.label,
		})
	}
	return edges, shown
}

// setPaths sets the path of every source and returns which chunks are sources.
func (r *run) setPaths(around *neighborhood, paths *paths, title func(ChunkRef) string) map[ChunkRef]bool {
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
