package graph

import (
	"cmp"
	"math"
	"slices"
)

// Link is a directed edge between two nodes, which are numbers from 0.
type Link struct {
	From, To int32
	Weight   float64 // above 0; counts in proportion to the other links of From
}

// Adjacency is a graph made ready for walking: the links into each node, side by
// side in memory, each with the probability that a step from its source takes
// it. It does not change and is safe for concurrent use.
type Adjacency struct {
	nodes   int
	first   []int32   // first[v] to first[v+1] are the places of the links into v
	sources []int32   // by link
	shares  []float64 // by link; those from one source sum to 1 at most
	losing  []int32   // nodes whose links do not share all steps, ascending
	losses  []float64 // by losing: the probability that a step takes no link
}

// Shape says how links become probabilities. The zero value counts links in
// proportion to their weights.
type Shape struct {
	// Damping, 0 for none, makes nodes that much points to less attractive: a
	// link's weight is divided by the sum of the weights into its target, to the
	// power of damping.
	Damping float64
	// Least is the sum of weights that takes all steps from a node. Where links
	// weigh less together, the rest of the steps goes back to the seeds: a weak
	// link must not be followed as a strong one is, for want of others.
	Least float64
}

// NewAdjacency returns the graph of nodes 0 to nodes-1 with these links. Links
// between the same two nodes add up; links without a positive, finite weight do
// not count. The order of links does not matter.
func NewAdjacency(nodes int, links []Link, shape Shape) *Adjacency {
	links = merged(nodes, links)
	a := &Adjacency{
		nodes: nodes, first: make([]int32, nodes+1),
		sources: make([]int32, len(links)), shares: make([]float64, len(links)),
	}
	for i, link := range links {
		a.first[link.To+1]++
		a.sources[i], a.shares[i] = link.From, link.Weight
	}
	for v := range nodes {
		a.first[v+1] += a.first[v]
	}
	if shape.Damping != 0 {
		a.damp(shape.Damping)
	}
	a.normalize(shape.Least)
	return a
}

// merged returns the links that count, one for each pair, in the order of their
// targets, then sources.
func merged(nodes int, links []Link) []Link {
	links = slices.DeleteFunc(slices.Clone(links), func(l Link) bool { return !(l.Weight > 0) || math.IsInf(l.Weight, 1) })
	spare := make([]Link, len(links))
	sortBy(nodes, links, spare, func(l Link) int32 { return l.From })
	sortBy(nodes, spare, links, func(l Link) int32 { return l.To })
	out := links[:0]
	for i := 0; i < len(links); {
		j := i + 1
		for j < len(links) && links[j].To == links[i].To && links[j].From == links[i].From {
			j++
		}
		out = append(out, sumOf(links[i:j]))
		i = j
	}
	return out
}

// sortBy writes links into out in the order of a key below nodes; links of one
// key stay in their order. A counting sort: linear, where comparing took ten
// times as long on 160,000 links.
func sortBy(nodes int, links, out []Link, key func(Link) int32) {
	next := make([]int32, nodes+1)
	for _, link := range links {
		next[key(link)+1]++
	}
	for k := range nodes {
		next[k+1] += next[k]
	}
	for _, link := range links {
		k := key(link)
		out[next[k]] = link
		next[k]++
	}
}

// sumOf joins links of one pair, lightest first, so that the sum does not depend
// on the order in which they were given.
func sumOf(links []Link) Link {
	slices.SortFunc(links, func(a, b Link) int { return cmp.Compare(a.Weight, b.Weight) })
	sum := links[0]
	for _, link := range links[1:] {
		sum.Weight += link.Weight
	}
	return sum
}

func (a *Adjacency) damp(damping float64) {
	for v := range a.nodes {
		into := a.shares[a.first[v]:a.first[v+1]]
		sum := 0.0
		for _, weight := range into {
			sum += weight
		}
		for i := range into {
			into[i] /= math.Pow(sum, damping)
		}
	}
}

// normalize turns weights into shares of the steps.
func (a *Adjacency) normalize(least float64) {
	out := make([]float64, a.nodes)
	for i, source := range a.sources {
		out[source] += a.shares[i]
	}
	for i, source := range a.sources {
		a.shares[i] /= max(out[source], least)
	}
	for v, sum := range out {
		if sum == 0 || sum < least {
			a.losing = append(a.losing, int32(v))
			a.losses = append(a.losses, 1-sum/max(sum, least, math.SmallestNonzeroFloat64))
		}
	}
}

// isEnd reports whether no link leaves the node.
func (a *Adjacency) isEnd(node int32) bool {
	i, found := slices.BinarySearch(a.losing, node)
	return found && a.losses[i] == 1
}

// Nodes returns the number of nodes.
func (a *Adjacency) Nodes() int { return a.nodes }

// Links returns the number of links.
func (a *Adjacency) Links() int { return len(a.sources) }
