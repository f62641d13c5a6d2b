package graph

import "strings"

// paths finds, for every node, the likeliest way that a walk takes from a seed to
// it, and says it in words.
type paths struct {
	around *surroundings
	words  map[int32]string // of seeds
	best   []float64
	by     []int32 // edge that the best way ends with, -1 at a seed
}

func newPaths(around *surroundings, seeds []seed, restart float64) *paths {
	n := len(around.places)
	p := &paths{around: around, words: map[int32]string{}, best: make([]float64, n), by: make([]int32, n)}
	for i := range p.by {
		p.by[i] = -1
	}
	for _, seed := range seeds {
		node := around.node[seed.Place]
		if words := p.words[node]; words != "" {
			p.words[node] = words + " and " + seed.words
		} else {
			p.words[node] = seed.words
		}
		p.best[node] += seed.weight
	}
	shares := around.shares()
	// As far as edges were loaded, no way has more of them than this.
	for range maxHops {
		for i, edge := range around.edges {
			from, to := around.node[edge.from], around.node[edge.to]
			if reached := p.best[from] * (1 - restart) * shares[i]; reached > p.best[to] {
				p.best[to], p.by[to] = reached, int32(i)
			}
		}
	}
	return p
}

// to returns the way to a node, or "" if no walk comes there.
func (p *paths) to(node int32, title func(Place) string) string {
	var steps []string
	for range maxHops + 1 {
		i := p.by[node]
		if i < 0 {
			break
		}
		edge := p.around.edges[i]
		steps = append(steps, edge.words+" → "+title(edge.to))
		node = p.around.node[edge.from]
	}
	if p.best[node] == 0 {
		return ""
	}
	words := p.words[node]
	if words == "" {
		words = "reached"
	}
	steps = append(steps, words+": "+title(p.around.places[node]))
	for a, b := 0, len(steps)-1; a < b; a, b = a+1, b-1 {
		steps[a], steps[b] = steps[b], steps[a]
	}
	return strings.Join(steps, ", ")
}

// shares returns the probability that a step takes each edge.
func (s *surroundings) shares() []float64 {
	sums := make([]float64, len(s.places))
	for _, edge := range s.edges {
		sums[s.node[edge.from]] += edge.weight
	}
	shares := make([]float64, len(s.edges))
	for i, edge := range s.edges {
		shares[i] = edge.weight / max(sums[s.node[edge.from]], leastWeight)
	}
	return shares
}
