package graph

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/graph/community"
	"github.com/ragdhq/ragd/internal/graph/keyterm"
	"github.com/ragdhq/ragd/internal/graph/walk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// maxTopics bounds the topics of an index, and their subtopics together: chunks of
	// further communities are in none.
	maxTopics = 200
	// leastTopic is the number of chunks of a topic, or leastSmall in an index of up to
	// smallIndex chunks.
	leastTopic = 3
	leastSmall = 2
	smallIndex = 100
	// A topic of at least divided chunks has subtopics, at most maxSubtopics, of at least
	// leastTopic chunks and 1/subtopicFraction of its own.
	divided          = 30
	maxSubtopics     = 10
	subtopicFraction = 20
	// maxCentral is the number of central chunks that are stored of a topic.
	maxCentral = 5
	// sampledChunks are read of each topic to find its terms, the most central.
	sampledChunks = 100
	topicTerms    = 10
	// pageRankRestart is the usual 1 - 0.85.
	pageRankRestart   = 0.15
	pageRankTolerance = 1e-6
)

// corpus is the graph of an index in memory.
type corpus struct {
	nodes []nodeRow
	graph *community.Graph
}

// division is the topics of a corpus.
type division struct {
	topics     []topicRow
	members    [][]int32 // by topic: its nodes, most central first
	lastID     int32
	modularity float64
}

// readCorpus reads the chunks and edges of an index, 100 bytes for each chunk and 30 for
// each edge.
func readCorpus(ctx context.Context, h *data.Handle, state topicState) (*corpus, error) {
	if state.Version == 0 {
		h = index.WithoutEdges(h)
	}
	nodes, err := readNodes(ctx, h, state.Chunks)
	if err != nil {
		return nil, err
	}
	type key struct {
		id      [16]byte
		ordinal int32
	}
	number := make(map[key]int32, len(nodes))
	for u, n := range nodes {
		number[key{n.id, n.ordinal}] = int32(u)
	}
	edges := make([]community.Edge, 0, int64(len(nodes))+state.Edges)
	if state.Graph.Keeps(string(Next)) {
		for u := 1; u < len(nodes); u++ {
			if nodes[u-1].id == nodes[u].id && nodes[u-1].ordinal+1 == nodes[u].ordinal {
				edges = append(edges, community.Edge{A: int32(u - 1), B: int32(u), Weight: nextWeight})
			}
		}
	}
	err = readLinks(ctx, h, func(r linkRow) {
		from, ok := number[key{r.from, r.fromOrdinal}]
		to, ok2 := number[key{r.to, r.toOrdinal}]
		if ok && ok2 {
			edges = append(edges, community.Edge{A: from, B: to, Weight: r.weight})
		}
	})
	if err != nil {
		return nil, err
	}
	// The order of rows is arbitrary, and sums of weights depend on it.
	slices.SortFunc(edges, func(a, b community.Edge) int {
		return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B), cmp.Compare(a.Weight, b.Weight))
	})
	return &corpus{nodes, community.NewGraph(len(nodes), edges)}, nil
}

// divide finds the topics and sets those of the nodes. Unless whole, new nodes join the
// topics that the others have. Ids continue after lastID.
func (c *corpus) divide(ctx context.Context, whole bool, lastID int32) (division, error) {
	var earlier []int32
	if !whole {
		earlier = make([]int32, len(c.nodes))
		for u, n := range c.nodes {
			if earlier[u] = n.topic; n.topic <= 0 {
				earlier[u] = community.New
			}
		}
	}
	label, err := community.Detect(ctx, c.graph, earlier)
	if err != nil {
		return division{}, err
	}
	found := division{lastID: lastID, modularity: c.graph.Q(label)}
	groups := c.fold(label)
	old := make([]int32, len(c.nodes))
	oldSub := make([]int32, len(c.nodes))
	for u, n := range c.nodes {
		old[u], oldSub[u] = n.topic, n.subtopic
		c.nodes[u].topic, c.nodes[u].subtopic, c.nodes[u].rank = 0, 0, 0
	}
	ids := found.identify(groups, old)
	for g, members := range groups {
		for _, u := range members {
			c.nodes[u].topic = ids[g]
		}
	}
	if err := c.rank(ctx); err != nil {
		return division{}, err
	}
	subtopics := 0
	for g, members := range groups {
		found.add(c, ids[g], 0, members)
		subs, err := c.subdivide(ctx, members, min(maxSubtopics, maxTopics-subtopics))
		if err != nil {
			return division{}, err
		}
		subtopics += len(subs)
		subIDs := found.identify(subs, oldSub)
		for s, members := range subs {
			for _, u := range members {
				c.nodes[u].subtopic = subIDs[s]
			}
			found.add(c, subIDs[s], ids[g], members)
		}
	}
	return found, nil
}

// fold returns the nodes of the communities that are large enough for a topic, at most
// maxTopics. If there are none, all nodes are one.
func (c *corpus) fold(label []int32) [][]int32 {
	least := leastTopic
	if len(label) <= smallIndex {
		least = leastSmall
	}
	groups := groupsOf(label, nil, least, maxTopics)
	if len(groups) == 0 && len(label) > 0 {
		groups = groupsOf(make([]int32, len(label)), nil, 1, 1)
	}
	return groups
}

// groupsOf returns the nodes of each of the communities 0 to most-1 that has at least least
// nodes. Communities are numbered as by community.Detect. nodes[i] is the node with
// label[i]; nil: i.
func groupsOf(label, nodes []int32, least, most int) [][]int32 {
	var groups [][]int32
	for i, c := range label {
		if int(c) >= most {
			continue
		}
		for len(groups) <= int(c) {
			groups = append(groups, nil)
		}
		u := int32(i)
		if nodes != nil {
			u = nodes[i]
		}
		groups[c] = append(groups[c], u)
	}
	return slices.DeleteFunc(groups, func(g []int32) bool { return len(g) < least })
}

// subdivide returns the subtopics of a topic, at most most; none for a topic that is small
// or in one piece.
func (c *corpus) subdivide(ctx context.Context, members []int32, most int) ([][]int32, error) {
	if len(members) < divided || most < 2 {
		return nil, nil
	}
	label, err := community.Detect(ctx, c.graph.Subgraph(members), nil)
	if err != nil {
		return nil, err
	}
	groups := groupsOf(label, members, max(leastTopic, len(members)/subtopicFraction), most)
	if len(groups) < 2 {
		return nil, nil
	}
	return groups, nil
}

// identify returns the ids of groups: that of the earlier topic that most nodes of the
// group had and that had no larger part in another, or a new one.
func (d *division) identify(groups [][]int32, earlier []int32) []int32 {
	type overlap struct {
		group, id int32
		nodes     int
	}
	var overlaps []overlap
	for g, members := range groups {
		counts := map[int32]int{}
		for _, u := range members {
			if id := earlier[u]; id > 0 {
				counts[id]++
			}
		}
		for id, count := range counts {
			if count*2 >= len(members) {
				overlaps = append(overlaps, overlap{int32(g), id, count})
			}
		}
	}
	slices.SortFunc(overlaps, func(a, b overlap) int {
		return cmp.Or(cmp.Compare(b.nodes, a.nodes), cmp.Compare(a.group, b.group), cmp.Compare(a.id, b.id))
	})
	ids, used := make([]int32, len(groups)), map[int32]bool{}
	for _, o := range overlaps {
		if ids[o.group] == 0 && !used[o.id] {
			ids[o.group], used[o.id] = o.id, true
		}
	}
	for g, id := range ids {
		if id == 0 {
			d.lastID++
			ids[g] = d.lastID
		}
	}
	return ids
}

// rank sets the rank of the nodes of topics: PageRank along the edges within their topic.
func (c *corpus) rank(ctx context.Context) error {
	var edges []walk.Edge
	var seeds []walk.Seed
	for u, n := range c.nodes {
		if n.topic == 0 {
			continue
		}
		seeds = append(seeds, walk.Seed{Node: int32(u), Weight: 1})
		c.graph.Each(int32(u), func(v int32, weight float64) {
			if c.nodes[v].topic == n.topic {
				edges = append(edges, walk.Edge{From: int32(u), To: v, Weight: weight})
			}
		})
	}
	scores, err := walk.NewAdjacency(len(c.nodes), edges, 0).Walk(ctx, seeds, walk.Options{Restart: pageRankRestart, Tolerance: pageRankTolerance})
	if err != nil {
		return err
	}
	for u := range c.nodes {
		c.nodes[u].rank = float32(scores[u] * float64(len(seeds)))
	}
	return nil
}

// add adds a topic of some nodes.
func (d *division) add(c *corpus, id, parent int32, members []int32) {
	slices.SortFunc(members, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.nodes[b].rank, c.nodes[a].rank), cmp.Compare(a, b))
	})
	t := topicRow{
		TopicID: id, ParentID: parent, Position: len(d.topics) + 1, Namespace: c.nodes[members[0]].namespace, Chunks: len(members),
		Terms: []string{}, Documents: []string{}, Ordinals: []int{},
	}
	seen := map[[16]byte]bool{}
	for _, distinct := range []bool{true, false} { // chunks of distinct documents first
		for _, u := range members {
			n := c.nodes[u]
			if len(t.Documents) == maxCentral || seen[n.id] == distinct {
				continue
			}
			if distinct {
				seen[n.id] = true
			} else if t.has(n) {
				continue
			}
			t.Documents, t.Ordinals = append(t.Documents, uuid.UUID(n.id).String()), append(t.Ordinals, int(n.ordinal))
		}
	}
	d.topics, d.members = append(d.topics, t), append(d.members, members)
}

// has reports whether a node is among the central chunks.
func (r topicRow) has(n nodeRow) bool {
	for i, document := range r.Documents {
		if r.Ordinals[i] == int(n.ordinal) && document == uuid.UUID(n.id).String() {
			return true
		}
	}
	return false
}

// describe finds the terms of topics: those of a topic against all others, those of a
// subtopic against its topic.
func (c *corpus) describe(ctx context.Context, processor *limit.Processor, h *data.Handle, d *division) error {
	var top []int
	families := map[int32][]int{}
	for i, t := range d.topics {
		if t.ParentID == 0 {
			top = append(top, i)
		} else {
			families[t.ParentID] = append(families[t.ParentID], i)
		}
	}
	var others []int32
	for u, n := range c.nodes {
		if n.topic == 0 {
			others = append(others, int32(u))
		}
	}
	if err := c.compare(ctx, processor, h, d, top, spread(others, sampledChunks), len(others)); err != nil {
		return err
	}
	for i, t := range d.topics {
		if subs := families[t.TopicID]; len(subs) > 0 {
			others := slices.DeleteFunc(slices.Clone(d.members[i]), func(u int32) bool { return c.nodes[u].subtopic != 0 })
			if err := c.compare(ctx, processor, h, d, subs, spread(others, sampledChunks), len(others)); err != nil {
				return err
			}
		}
	}
	return nil
}

// spread returns at most n of the nodes, evenly spread.
func spread(nodes []int32, n int) []int32 {
	if len(nodes) <= n {
		return nodes
	}
	some := make([]int32, n)
	for i := range some {
		some[i] = nodes[i*len(nodes)/n]
	}
	return some
}

// compare finds the terms that tell topics apart, from each other and from a sample of
// others, which are so many.
func (c *corpus) compare(ctx context.Context, processor *limit.Processor, h *data.Handle, d *division, topics []int, sample []int32, others int) error {
	terms := keyterm.NewCollection(len(topics) + 1)
	add := func(group int, nodes []int32, size int) error {
		rows := make([]nodeRow, len(nodes))
		for i, u := range nodes {
			rows[i] = c.nodes[u]
		}
		texts, err := textsOfNodes(ctx, h, rows)
		if err != nil {
			return err
		}
		return processor.Run(ctx, string(h.Tenant()), func(context.Context) error {
			terms.Add(group, texts, size)
			return nil
		})
	}
	for group, i := range topics {
		if err := add(group, d.members[i][:min(sampledChunks, len(d.members[i]))], len(d.members[i])); err != nil {
			return err
		}
	}
	if err := add(len(topics), sample, others); err != nil {
		return err
	}
	return processor.Run(ctx, string(h.Tenant()), func(ctx context.Context) error {
		for group, i := range topics {
			found, err := terms.Terms(ctx, group, topicTerms)
			if err != nil {
				return err
			}
			d.topics[i].Terms = append(d.topics[i].Terms, found...)
		}
		return nil
	})
}

// storeChanged stores the topics of the nodes whose topic was another, or whose rank has
// changed much.
func (c *corpus) storeChanged(ctx context.Context, h *data.Handle, before []nodeRow) error {
	var changed []nodeRow
	for u, n := range c.nodes {
		old := before[u]
		if old.topic != n.topic || old.subtopic != n.subtopic || old.rank > 2*n.rank || n.rank > 2*old.rank {
			changed = append(changed, n)
		}
	}
	for some := range slices.Chunk(changed, storedMembers) {
		if err := storeMembers(ctx, h, some); err != nil {
			return err
		}
	}
	return nil
}
