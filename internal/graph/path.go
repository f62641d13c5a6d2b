package graph

import (
	"slices"
	"strings"
)

// paths holds, for every node of a neighborhood, the likeliest path of a walk
// from a seed to it.
type paths struct {
	around  *neighborhood
	reasons map[int32]string // of seeds
	best    []float64        // probability of the likeliest path, times the seed's weight
	by      []int32          // last edge of that path, -1 at a seed
}

func newPaths(around *neighborhood, seeds []seed, restart float64) *paths {
	n := len(around.chunks)
	p := &paths{around: around, reasons: map[int32]string{}, best: make([]float64, n), by: make([]int32, n)}
	for i := range p.by {
		p.by[i] = -1
	}
	for _, seed := range seeds {
		node := around.node[seed.ChunkRef]
		if reason := p.reasons[node]; reason != "" {
			p.reasons[node] = reason + " and " + seed.reason
		} else {
			p.reasons[node] = seed.reason
		}
		p.best[node] += seed.weight
	}
	shares := around.shares()
	for range maxHops { // edges were loaded no further than this
		for i, edge := range around.edges {
			from, to := around.node[edge.from], around.node[edge.to]
			if reached := p.best[from] * (1 - restart) * shares[i]; reached > p.best[to] {
				p.best[to], p.by[to] = reached, int32(i)
			}
		}
	}
	return p
}

// to describes the path to a node, or returns "" if no walk reaches it.
func (p *paths) to(node int32, title func(ChunkRef) string) string {
	var steps []string
	for range maxHops + 1 {
		i := p.by[node]
		if i < 0 {
			break
		}
		edge := p.around.edges[i]
		steps = append(steps, edge.label+" → "+title(edge.to))
		node = p.around.node[edge.from]
	}
	if p.best[node] == 0 {
		return ""
	}
	reason := p.reasons[node]
	if reason == "" {
		reason = "reached"
	}
	steps = append(steps, reason+": "+title(p.around.chunks[node]))
	slices.Reverse(steps)
	return strings.Join(steps, ", ")
}

// shares returns, for each edge, the probability that a step from its source
// takes it if it does not restart.
func (n *neighborhood) shares() []float64 {
	sums := make([]float64, len(n.chunks))
	for _, edge := range n.edges {
		sums[n.node[edge.from]] += edge.weight
	}
	shares := make([]float64, len(n.edges))
	for i, edge := range n.edges {
		shares[i] = edge.weight / max(sums[n.node[edge.from]], leastWeight)
	}
	return shares
}
