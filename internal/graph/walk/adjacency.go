package walk

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Edge is a directed edge between two nodes. Nodes are numbered from 0.
type Edge struct {
	From, To int32
	Weight   float64 // above 0; relative to the other edges of From
}

// Adjacency is an immutable graph in the form that a walk reads: for each node
// the incoming edges, adjacent in memory, each with the probability that a step
// from its source takes it. It is safe for concurrent use.
type Adjacency struct {
	nodes   int
	first   []int32   // incoming edges of v: indices first[v] to first[v+1]-1
	sources []int32   // by edge; ascending within one target
	shares  []float64 // by edge; the shares of one source sum to at most 1
	leaking []int32   // nodes whose shares sum to less than 1, ascending
	leaks   []float64 // by leaking: the probability that a step takes no edge

	outgoing struct { // built when gonum first asks for outgoing edges
		once    sync.Once
		first   []int32 // outgoing edges of u: indices first[u] to first[u+1]-1
		targets []int32 // by edge; ascending within one source
	}
}

// NewAdjacency returns the graph of the nodes 0 to nodes-1 with the given edges,
// in any order. Parallel edges are added up. Edges whose weight is not positive
// and finite are ignored. Time and memory are linear in nodes and edges.
//
// The probability of an edge is its weight divided by the larger of least and the
// sum of the weights out of its source. A node whose sum is below least sends the
// remaining steps back to the seeds, so that a weak edge stays weak where there is
// no other.
func NewAdjacency(nodes int, edges []Edge, least float64) *Adjacency {
	edges = merge(nodes, edges)
	a := &Adjacency{
		nodes: nodes, first: make([]int32, nodes+1),
		sources: make([]int32, len(edges)), shares: make([]float64, len(edges)),
	}
	for i, edge := range edges {
		a.first[edge.To+1]++
		a.sources[i], a.shares[i] = edge.From, edge.Weight
	}
	for v := range nodes {
		a.first[v+1] += a.first[v]
	}
	a.normalize(least)
	return a
}

// merge returns the valid edges, parallel ones added up, ordered by target, then
// source.
func merge(nodes int, edges []Edge) []Edge {
	edges = slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool { return !(e.Weight > 0) || math.IsInf(e.Weight, 1) })
	spare := make([]Edge, len(edges))
	sortByKey(nodes, edges, spare, func(e Edge) int32 { return e.From })
	sortByKey(nodes, spare, edges, func(e Edge) int32 { return e.To })
	out := edges[:0]
	for i := 0; i < len(edges); {
		j := i + 1
		for j < len(edges) && edges[j].To == edges[i].To && edges[j].From == edges[i].From {
			j++
		}
		out = append(out, sum(edges[i:j]))
		i = j
	}
	return out
}

// sortByKey writes the edges into out, stably sorted by a key below nodes. It is
// a counting sort: a comparison sort took ten times as long on 160,000 edges.
func sortByKey(nodes int, edges, out []Edge, key func(Edge) int32) {
	next := make([]int32, nodes+1)
	for _, edge := range edges {
		next[key(edge)+1]++
	}
	for k := range nodes {
		next[k+1] += next[k]
	}
	for _, edge := range edges {
		k := key(edge)
		out[next[k]] = edge
		next[k]++
	}
}

// sum adds up parallel edges from the lightest to the heaviest, so that the
// result does not depend on their order.
func sum(edges []Edge) Edge {
	slices.SortFunc(edges, func(a, b Edge) int { return cmp.Compare(a.Weight, b.Weight) })
	total := edges[0]
	for _, edge := range edges[1:] {
		total.Weight += edge.Weight
	}
	return total
}

// normalize turns weights into probabilities.
func (a *Adjacency) normalize(least float64) {
	out := make([]float64, a.nodes)
	for i, source := range a.sources {
		out[source] += a.shares[i]
	}
	for i, source := range a.sources {
		a.shares[i] /= max(out[source], least)
	}
	for v, weight := range out {
		if weight == 0 || weight < least {
			a.leaking = append(a.leaking, int32(v))
			a.leaks = append(a.leaks, 1-weight/max(weight, least, math.SmallestNonzeroFloat64))
		}
	}
}

// isSink reports whether a node has no outgoing edges.
func (a *Adjacency) isSink(node int32) bool {
	i, found := slices.BinarySearch(a.leaking, node)
	return found && a.leaks[i] == 1
}

// NodeCount returns the number of nodes.
func (a *Adjacency) NodeCount() int { return a.nodes }

// EdgeCount returns the number of edges, parallel ones counted once.
func (a *Adjacency) EdgeCount() int { return len(a.sources) }
