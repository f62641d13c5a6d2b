package walk

import (
	"slices"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
)

var (
	_ graph.Directed         = (*Adjacency)(nil)
	_ graph.WeightedDirected = (*Adjacency)(nil)
)

// Node returns the node with the id, or nil if there is none.
// It implements graph.Graph.
func (a *Adjacency) Node(id int64) graph.Node {
	if !a.has(id) {
		return nil
	}
	return node(id)
}

// Nodes returns all nodes, ascending. It implements graph.Graph.
func (a *Adjacency) Nodes() graph.Nodes {
	if a.nodes == 0 {
		return graph.Empty
	}
	return iterator.NewImplicitNodes(0, a.nodes, func(id int) graph.Node { return node(id) })
}

// From returns the targets of the edges that leave a node, ascending. The first
// call takes time and memory linear in edges. It implements graph.Graph.
func (a *Adjacency) From(id int64) graph.Nodes {
	if !a.has(id) {
		return graph.Empty
	}
	out := &a.outgoing
	out.once.Do(a.buildOutgoing)
	return newNodes(out.targets[out.first[id]:out.first[id+1]])
}

// buildOutgoing sorts the targets of all edges by source.
func (a *Adjacency) buildOutgoing() {
	first, targets := make([]int32, a.nodes+1), make([]int32, len(a.sources))
	for _, source := range a.sources {
		first[source+1]++
	}
	for u := range a.nodes {
		first[u+1] += first[u]
	}
	next := slices.Clone(first)
	for v := range a.nodes {
		for _, source := range a.sources[a.first[v]:a.first[v+1]] {
			targets[next[source]] = int32(v)
			next[source]++
		}
	}
	a.outgoing.first, a.outgoing.targets = first, targets
}

// To returns the sources of the edges that lead to a node, ascending.
// It implements graph.Directed.
func (a *Adjacency) To(id int64) graph.Nodes {
	if !a.has(id) {
		return graph.Empty
	}
	return newNodes(a.sources[a.first[id]:a.first[id+1]])
}

// HasEdgeBetween reports whether an edge connects two nodes in either direction.
// It implements graph.Graph.
func (a *Adjacency) HasEdgeBetween(x, y int64) bool {
	return a.HasEdgeFromTo(x, y) || a.HasEdgeFromTo(y, x)
}

// HasEdgeFromTo reports whether an edge leads from u to v. It implements
// graph.Directed.
func (a *Adjacency) HasEdgeFromTo(u, v int64) bool {
	_, ok := a.share(u, v)
	return ok
}

// Edge returns the edge from u to v, or nil if there is none. It implements
// graph.Graph.
func (a *Adjacency) Edge(u, v int64) graph.Edge {
	if e := a.WeightedEdge(u, v); e != nil {
		return e
	}
	return nil
}

// WeightedEdge returns the edge from u to v, or nil if there is none. It
// implements graph.Weighted.
func (a *Adjacency) WeightedEdge(u, v int64) graph.WeightedEdge {
	share, ok := a.share(u, v)
	if !ok {
		return nil
	}
	return edge{node(u), node(v), share}
}

// Weight returns the probability that a step of a walk from u, if it does not
// restart, takes the edge to v: 0 without an edge. It implements graph.Weighted.
func (a *Adjacency) Weight(u, v int64) (weight float64, ok bool) {
	share, ok := a.share(u, v)
	return share, ok || u == v && a.has(u)
}

func (a *Adjacency) has(id int64) bool { return id >= 0 && id < int64(a.nodes) }

// share finds an edge by binary search among those into v.
func (a *Adjacency) share(u, v int64) (share float64, ok bool) {
	if !a.has(u) || !a.has(v) {
		return 0, false
	}
	begin, end := a.first[v], a.first[v+1]
	i, ok := slices.BinarySearch(a.sources[begin:end], int32(u))
	if !ok {
		return 0, false
	}
	return a.shares[int(begin)+i], true
}

// node implements graph.Node.
type node int64

func (n node) ID() int64 { return int64(n) }

// edge implements graph.WeightedEdge.
type edge struct {
	from, to node
	weight   float64
}

func (e edge) From() graph.Node         { return e.from }
func (e edge) To() graph.Node           { return e.to }
func (e edge) Weight() float64          { return e.weight }
func (e edge) ReversedEdge() graph.Edge { return e } // the other direction has a weight of its own

// nodes implements graph.Nodes over ids without copying them.
type nodes struct {
	ids []int32
	at  int // index of the current node, -1 before the first
}

func newNodes(ids []int32) graph.Nodes {
	if len(ids) == 0 {
		return graph.Empty
	}
	return &nodes{ids: ids, at: -1}
}

func (n *nodes) Next() bool {
	n.at = min(n.at+1, len(n.ids))
	return n.at < len(n.ids)
}

func (n *nodes) Len() int { return max(0, len(n.ids)-n.at-1) }

func (n *nodes) Reset() { n.at = -1 }

func (n *nodes) Node() graph.Node {
	if n.at < 0 || n.at >= len(n.ids) {
		return nil
	}
	return node(n.ids[n.at])
}
