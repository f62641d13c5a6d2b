package graph

// components counts the connected components of a graph while its edges are
// read: a disjoint-set forest, with memory linear in chunks whatever the number
// of edges.
type components struct {
	node   map[ChunkRef]int32
	parent []int32 // by node; the root of a tree stands for the component
	count  int
}

func newComponents(chunks int) *components {
	return &components{node: make(map[ChunkRef]int32, chunks), parent: make([]int32, 0, chunks)}
}

// add adds a chunk, as a component of its own, unless it is known.
func (c *components) add(chunk ChunkRef) {
	if _, ok := c.node[chunk]; ok {
		return
	}
	node := int32(len(c.parent))
	c.node[chunk], c.parent = node, append(c.parent, node)
	c.count++
}

// join merges the components of two chunks. It ignores chunks that were not
// added: they were stored after the chunks were read.
func (c *components) join(a, b ChunkRef) {
	first, ok := c.node[a]
	second, ok2 := c.node[b]
	if !ok || !ok2 {
		return
	}
	if first, second = c.root(first), c.root(second); first != second {
		c.parent[first] = second
		c.count--
	}
}

// root returns the root of a node's tree and halves the path to it.
func (c *components) root(node int32) int32 {
	for c.parent[node] != node {
		c.parent[node] = c.parent[c.parent[node]]
		node = c.parent[node]
	}
	return node
}
