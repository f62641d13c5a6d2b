package community

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/community"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/ragdhq/ragd/internal/operate/limit"
)

// New is the earlier community of a node that had none.
const New int32 = -1

// modularized is the largest number of nodes that gonum divides.
const modularized = 500

// leastGain is the gain of a move, as a share of the degree of its node, below which
// nodes stay: rounding must not move them for ever.
const leastGain = 1e-9

// Detect divides the graph into communities and returns the community of each node.
// Communities are numbered from 0, larger ones first, ties by their first node. A node
// without edges is a community of its own. Equal arguments have equal results.
//
// earlier is nil, or has the earlier community of each node, New for none. Then only
// nodes without one, their neighbours, and the neighbours of nodes that move are
// considered for other communities; whole communities may be merged, but are not split.
// Errors: that of ctx.
func Detect(ctx context.Context, g *Graph, earlier []int32) ([]int32, error) {
	m := newMover(g, earlier)
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	label := m.label
	for {
		count := number(label)
		small := g.contract(label, count)
		if small.connected() <= modularized {
			label = compose(label, modularize(small))
			break
		}
		m := newMover(small, nil)
		if err := m.run(ctx); err != nil {
			return nil, err
		}
		if !m.changed {
			break
		}
		label = compose(label, m.label)
	}
	number(label)
	return label, nil
}

// mover moves single nodes of a graph between communities.
type mover struct {
	g       *Graph
	label   []int32
	degrees []float64 // by community: of its nodes
	queue   []int32   // nodes to consider, a ring buffer
	queued  []bool    // by node
	to      []float64 // by community: the weight of the arcs from the current node
	changed bool
}

func newMover(g *Graph, earlier []int32) *mover {
	n := g.Nodes()
	m := &mover{g: g, label: make([]int32, n), degrees: make([]float64, n), queued: make([]bool, n), to: make([]float64, n)}
	if earlier == nil {
		for u := range m.label {
			m.label[u] = int32(u)
			m.consider(int32(u))
		}
	} else {
		m.resume(earlier)
	}
	for u, c := range m.label {
		m.degrees[c] += g.degrees[u]
	}
	random := rand.New(rand.NewPCG(uint64(n), uint64(len(g.targets))))
	random.Shuffle(len(m.queue), func(i, j int) { m.queue[i], m.queue[j] = m.queue[j], m.queue[i] })
	return m
}

// resume begins with earlier communities, each under the number of its first node.
func (m *mover) resume(earlier []int32) {
	first := map[int32]int32{}
	for u, c := range earlier {
		if _, ok := first[c]; !ok {
			first[c] = int32(u)
		}
		if m.label[u] = first[c]; c == New {
			m.label[u] = int32(u)
			m.consider(int32(u))
			m.g.Each(int32(u), func(v int32, _ float64) { m.consider(v) })
		}
	}
}

// consider adds a node to the queue unless it is there.
func (m *mover) consider(u int32) {
	if !m.queued[u] {
		m.queued[u] = true
		m.queue = append(m.queue, u)
	}
}

// yieldInterval is the number of nodes between two looks at the context.
const yieldInterval = 1024

// run moves nodes until no move raises modularity. Each move raises it, so it ends.
func (m *mover) run(ctx context.Context) error {
	for considered := 0; considered < len(m.queue); considered++ {
		if considered%yieldInterval == 0 {
			if err := limit.Yield(ctx); err != nil {
				return err
			}
		}
		u := m.queue[considered]
		m.queued[u] = false
		m.move(u)
		if considered > len(m.label) { // drop what was considered
			m.queue, considered = append(m.queue[:0], m.queue[considered+1:]...), -1
		}
	}
	return nil
}

// move moves a node to the best community of its neighbours, if that is better than its
// own, and has its neighbours considered again.
func (m *mover) move(u int32) {
	g, own := m.g, m.label[u]
	begin, end := g.first[u], g.first[u+1]
	targets, weights := g.targets[begin:end], g.weights[begin:end]
	for i, v := range targets {
		m.to[m.label[v]] += float64(weights[i])
	}
	degree := g.degrees[u]
	scale := degree / g.total
	best, gain := own, m.to[own]-scale*(m.degrees[own]-degree)+leastGain*degree
	for _, v := range targets {
		c := m.label[v]
		if c == own || m.to[c] == 0 { // own, or compared before
			continue
		}
		if other := m.to[c] - scale*m.degrees[c]; other > gain || other == gain && best != own && c < best {
			best, gain = c, other
		}
		m.to[c] = 0
	}
	m.to[own] = 0
	if best == own {
		return
	}
	m.changed = true
	m.label[u] = best
	m.degrees[own] -= degree
	m.degrees[best] += degree
	for _, v := range targets {
		if m.label[v] != best {
			m.consider(v)
		}
	}
}

// number numbers communities from 0, larger ones first, and returns their number.
func number(label []int32) int {
	type community struct{ name, first, size int32 }
	index := make(map[int32]int)
	var found []community
	for u, c := range label {
		i, ok := index[c]
		if !ok {
			i = len(found)
			index[c] = i
			found = append(found, community{c, int32(u), 0})
		}
		found[i].size++
	}
	slices.SortFunc(found, func(a, b community) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.first, b.first)) })
	for i, c := range found {
		index[c.name] = i
	}
	for u, c := range label {
		label[u] = int32(index[c])
	}
	return len(found)
}

// compose returns the communities of nodes whose communities outer divides. It changes
// inner.
func compose(inner, outer []int32) []int32 {
	for u, c := range inner {
		inner[u] = outer[c]
	}
	return inner
}

// connected returns the number of nodes with edges to others.
func (g *Graph) connected() int {
	count := 0
	for u := range g.Nodes() {
		if g.first[u+1] > g.first[u] {
			count++
		}
	}
	return count
}

// modularize divides a graph by gonum. gonum ignores loops of the graph that it is given,
// so each node is given as two, with its loop as the edge between them. The result is
// discarded if gonum separates so many of these that modularity falls.
func modularize(g *Graph) []int32 {
	n := g.Nodes()
	label := make([]int32, n)
	for u := range label {
		label[u] = int32(u)
	}
	pairs := simple.NewWeightedUndirectedGraph(0, 0)
	for u := range n {
		if g.first[u] == g.first[u+1] {
			continue // no other community to be in
		}
		if loop := g.loops[u] / 2; loop > 0 {
			pairs.SetWeightedEdge(simple.WeightedEdge{F: simple.Node(u), T: simple.Node(n + u), W: loop})
		}
		g.Each(int32(u), func(v int32, weight float64) {
			if int32(u) < v {
				pairs.SetWeightedEdge(simple.WeightedEdge{F: simple.Node(u), T: simple.Node(v), W: weight})
			}
		})
	}
	before := g.Q(label)
	divided := slices.Clone(label)
	for _, members := range community.Modularize(pairs, 1, rand.NewPCG(uint64(n), 1)).Communities() {
		if first := slices.IndexFunc(members, func(u graph.Node) bool { return u.ID() < int64(n) }); first >= 0 {
			for _, u := range members {
				if u.ID() < int64(n) {
					divided[u.ID()] = int32(members[first].ID())
				}
			}
		}
	}
	if g.Q(divided) < before {
		return label
	}
	return divided
}
