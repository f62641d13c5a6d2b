package community

// Edge is an undirected edge between two nodes, which are numbered from 0.
type Edge struct {
	A, B   int32
	Weight float32 // above 0
}

// Graph is an immutable weighted undirected graph. It is safe for concurrent use.
type Graph struct {
	first   []int // arcs of u: indices first[u] to first[u+1]-1
	targets []int32
	weights []float32
	loops   []float64 // by node: twice the weight of edges within the nodes that it stands for
	degrees []float64 // by node: the weights of its arcs and its loop
	total   float64   // the sum of the degrees
}

// NewGraph returns the graph of the nodes 0 to nodes-1 with the edges, in any order.
// Parallel edges are added up. Loops and edges whose weight is not positive are ignored.
// Time and memory are linear in nodes and edges: 16 bytes an edge, and as much while the
// graph is made.
func NewGraph(nodes int, edges []Edge) *Graph {
	b := newBuilder(nodes)
	for _, e := range edges {
		if e.valid() {
			b.next[e.A+1]++
			b.next[e.B+1]++
		}
	}
	b.allocate()
	for _, e := range edges {
		if e.valid() {
			b.add(e.A, e.B, e.Weight)
			b.add(e.B, e.A, e.Weight)
		}
	}
	return b.graph(make([]float64, nodes))
}

func (e Edge) valid() bool { return e.A != e.B && e.Weight > 0 }

// Nodes returns the number of nodes.
func (g *Graph) Nodes() int { return len(g.loops) }

// Edges returns the number of edges, parallel ones counted once.
func (g *Graph) Edges() int { return len(g.targets) / 2 }

// Each calls yield for the neighbours of a node, with the weights of the edges to them.
func (g *Graph) Each(node int32, yield func(neighbour int32, weight float64)) {
	for i := g.first[node]; i < g.first[node+1]; i++ {
		yield(g.targets[i], float64(g.weights[i]))
	}
}

// Subgraph returns the graph of some nodes and the edges between them. Node i of it is
// nodes[i].
func (g *Graph) Subgraph(nodes []int32) *Graph {
	number := make(map[int32]int32, len(nodes))
	for i, u := range nodes {
		number[u] = int32(i)
	}
	var edges []Edge
	for i, u := range nodes {
		g.Each(u, func(v int32, weight float64) {
			if j, ok := number[v]; ok && int32(i) < j {
				edges = append(edges, Edge{int32(i), j, float32(weight)})
			}
		})
	}
	return NewGraph(len(nodes), edges)
}

// Q returns the modularity of a division of the graph into communities, in [-1/2,1):
// the share of the weight within communities less what it would be if edges were placed
// at random (Newman and Girvan 2004). label[u] is the community of node u.
func (g *Graph) Q(label []int32) float64 {
	if g.total == 0 {
		return 0
	}
	inside, degrees := 0.0, make([]float64, g.Nodes())
	for u := range label {
		inside += g.loops[u]
		degrees[label[u]] += g.degrees[u]
		g.Each(int32(u), func(v int32, weight float64) {
			if label[v] == label[u] {
				inside += weight
			}
		})
	}
	q := inside / g.total
	for _, degree := range degrees {
		q -= degree / g.total * (degree / g.total)
	}
	return q
}

// contract returns the graph whose nodes are the communities of g. label[u], below count,
// is the community of node u.
func (g *Graph) contract(label []int32, count int) *Graph {
	loops := make([]float64, count)
	b := newBuilder(count)
	for u, own := range label {
		loops[own] += g.loops[u]
		for i := g.first[u]; i < g.first[u+1]; i++ {
			if other := label[g.targets[i]]; other == own {
				loops[own] += float64(g.weights[i])
			} else {
				b.next[own+1]++
			}
		}
	}
	b.allocate()
	for u, own := range label {
		for i := g.first[u]; i < g.first[u+1]; i++ {
			if other := label[g.targets[i]]; other != own {
				b.add(own, other, g.weights[i])
			}
		}
	}
	return b.graph(loops)
}

// builder sorts arcs by their source, then adds up parallel ones.
type builder struct {
	next    []int // first counts arcs, then is where the next arc of each node goes
	targets []int32
	weights []float32
}

func newBuilder(nodes int) *builder { return &builder{next: make([]int, nodes+1)} }

func (b *builder) allocate() {
	for u := 1; u < len(b.next); u++ {
		b.next[u] += b.next[u-1]
	}
	arcs := b.next[len(b.next)-1]
	b.targets, b.weights = make([]int32, arcs), make([]float32, arcs)
}

func (b *builder) add(from, to int32, weight float32) {
	b.targets[b.next[from]], b.weights[b.next[from]] = to, weight
	b.next[from]++
}

func (b *builder) graph(loops []float64) *Graph {
	nodes := len(loops)
	g := &Graph{first: make([]int, nodes+1), loops: loops, degrees: make([]float64, nodes)}
	at := make([]int, nodes) // 1 + where the arc to a node went
	begin, out := 0, 0
	for u := range nodes {
		end := b.next[u]
		g.first[u] = out
		for i := begin; i < end; i++ {
			v, weight := b.targets[i], b.weights[i]
			if j := at[v] - 1; j >= g.first[u] {
				b.weights[j] += weight
				continue
			}
			b.targets[out], b.weights[out] = v, weight
			out++
			at[v] = out
		}
		g.degrees[u] = loops[u]
		for _, weight := range b.weights[g.first[u]:out] {
			g.degrees[u] += float64(weight)
		}
		g.total += g.degrees[u]
		begin = end
	}
	g.first[nodes] = out
	g.targets, g.weights = b.targets[:out:out], b.weights[:out:out]
	return g
}
