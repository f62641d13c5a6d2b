package graph

// parts are the sets of places that edges connect, so far: a forest in which the
// root stands for the set.
type parts struct {
	node   map[Place]int32
	parent []int32
	count  int
}

func newParts(places int) *parts {
	return &parts{node: make(map[Place]int32, places), parent: make([]int32, 0, places)}
}

// add takes in a place, alone if it is new.
func (p *parts) add(place Place) {
	if _, ok := p.node[place]; ok {
		return
	}
	node := int32(len(p.parent))
	p.node[place], p.parent = node, append(p.parent, node)
	p.count++
}

// join makes one set of those of two places. Of places that were not added, which
// are of chunks that came since, nothing is known.
func (p *parts) join(a, b Place) {
	first, ok := p.node[a]
	second, ok2 := p.node[b]
	if !ok || !ok2 {
		return
	}
	if first, second = p.root(first), p.root(second); first != second {
		p.parent[first] = second
		p.count--
	}
}

// root halves the way to the root as it goes.
func (p *parts) root(node int32) int32 {
	for p.parent[node] != node {
		p.parent[node] = p.parent[p.parent[node]]
		node = p.parent[node]
	}
	return node
}
