package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/graph/walk"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// maxHops is the number of edges that are followed from the seeds. With the
// default restart one walker in eight gets that far.
const maxHops = 3

// bounds limits what one query loads. The answer warns when a bound was met.
type bounds struct {
	nodes, edges int
	bytes        int64 // of edges in memory
	time         time.Duration
}

var defaultBounds = bounds{nodes: 5_000, edges: 50_000, bytes: 16 << 20, time: 5 * time.Second}

// tooLarge is the warning when the nodes, edges or bytes ran out.
func (b bounds) tooLarge() string {
	return fmt.Sprintf("the graph around the seeds is larger than %d chunks, %d edges or %d MiB: the walk saw a part of it", b.nodes, b.edges, b.bytes>>20)
}

// tooSlow is the warning when the time ran out.
func (b bounds) tooSlow() string {
	return fmt.Sprintf("loading the graph around the seeds took longer than %v: the walk saw a part of it", b.time)
}

// seed is a chunk where walks start, and why.
type seed struct {
	ChunkRef
	weight float64
	reason string
}

// neighborhood is the part of a stored graph around the seeds of a question.
type neighborhood struct {
	chunks    []ChunkRef // ascending; their indices are the nodes of the walk
	node      map[ChunkRef]int32
	edges     []chunkEdge
	adjacency *walk.Adjacency // nil until buildAdjacency
	warning   string          // why it is incomplete; else empty

	arriving map[ChunkRef]float64 // probability that a walk arrives at a chunk, by the edges loaded so far
	followed map[ChunkRef]bool    // chunks whose edges were loaded
	towards  map[string]float64   // factors of edges to documents, by id
}

// chunkEdge is a loaded edge.
type chunkEdge struct {
	from, to ChunkRef
	kind     EdgeType
	cosine   float64
	weight   float64
	label    string
	name     string // that from mentions, as to has it; else empty
}

func compareChunks(a, b ChunkRef) int {
	return cmp.Or(cmp.Compare(a.DocumentID, b.DocumentID), cmp.Compare(a.Ordinal, b.Ordinal))
}

// load loads the neighborhood of the seeds, a few statements for each hop. It only
// follows edges to chunks that the request's filter admits, so nothing is reached
// through a hidden chunk. The edges of a chunk are not followed where fewer than leastArriving
// walkers arrive. found are the results of the search.
func (s *Service) load(ctx context.Context, p walkPlan, version int64, seeds []seed, found []query.Source) (*neighborhood, error) {
	loader := s.loader(p, version)
	around := newNeighborhood(seeds, found)
	bytes := int64(0)
	for range maxHops {
		from := around.due()
		if len(from) == 0 {
			break
		}
		edges, all, err := loader.edgesFrom(ctx, from)
		if ctx.Err() == nil && fault.KindOf(err) == fault.Deadline {
			around.warning = s.bounds.tooSlow()
			break
		}
		if err != nil {
			return nil, err
		}
		if !all {
			around.warning = s.bounds.tooLarge()
		}
		first := len(around.edges)
		for _, edge := range edges {
			if !slices.Contains(p.types, edge.kind) || edge.kind == Similar && edge.cosine < p.threshold {
				continue
			}
			if bytes += edge.bytes(); len(around.edges) >= s.bounds.edges || len(around.chunks) >= s.bounds.nodes || bytes > s.bounds.bytes {
				around.warning = s.bounds.tooLarge()
				break
			}
			around.add(edge)
		}
		if around.warning != "" {
			break
		}
		around.spread(around.edges[first:], 1-p.walk.Restart)
	}
	return around, nil
}

// newNeighborhood returns the neighborhood of seeds, without edges yet.
func newNeighborhood(seeds []seed, found []query.Source) *neighborhood {
	n := &neighborhood{node: map[ChunkRef]int32{}, arriving: map[ChunkRef]float64{}, followed: map[ChunkRef]bool{}, towards: towards(found)}
	total := 0.0
	for _, seed := range seeds {
		total += seed.weight
	}
	for _, seed := range seeds {
		n.reach(seed.ChunkRef)
		n.arriving[seed.ChunkRef] += seed.weight / total
	}
	return n
}

func (n *neighborhood) reach(chunk ChunkRef) {
	if _, seen := n.node[chunk]; !seen {
		n.node[chunk] = 0
		n.chunks = append(n.chunks, chunk)
	}
}

// add adds an edge. An edge from one document to another which the search found too weighs
// more: of all that a text mentions, the question asks for that.
func (n *neighborhood) add(edge chunkEdge) {
	if factor := n.towards[edge.to.DocumentID]; factor > 0 && edge.to.DocumentID != edge.from.DocumentID {
		edge.weight *= factor
	}
	n.edges = append(n.edges, edge)
	n.reach(edge.to)
}

// towards returns the factors of edges to the documents that a search found.
func towards(found []query.Source) map[string]float64 {
	factors := map[string]float64{}
	for rank, source := range found[:min(towardsCount, len(found))] {
		if factors[source.DocumentID] == 0 {
			factors[source.DocumentID] = towardsFactor(rank)
		}
	}
	return factors
}

// due returns the chunks whose edges are to be followed next.
func (n *neighborhood) due() (chunks []ChunkRef) {
	for _, chunk := range n.chunks {
		if !n.followed[chunk] && n.arriving[chunk] >= leastArriving {
			n.followed[chunk] = true
			chunks = append(chunks, chunk)
		}
	}
	return chunks
}

// spread adds to the probabilities of arriving those over edges, which are grouped by the chunk that
// they leave. goOn is the probability that a walker goes on.
func (n *neighborhood) spread(edges []chunkEdge, goOn float64) {
	for first := 0; first < len(edges); {
		from, last, sum := edges[first].from, first, 0.0
		for ; last < len(edges) && edges[last].from == from; last++ {
			sum += edges[last].weight
		}
		for _, edge := range edges[first:last] {
			n.arriving[edge.to] += n.arriving[from] * goOn * edge.weight / max(sum, leastWeight)
		}
		first = last
	}
}

// buildAdjacency numbers the chunks in their own order, not in that of loading,
// so that the scores of equal requests are equal to the last bit.
func (n *neighborhood) buildAdjacency() {
	slices.SortFunc(n.chunks, compareChunks)
	for i, chunk := range n.chunks {
		n.node[chunk] = int32(i)
	}
	edges := make([]walk.Edge, len(n.edges))
	for i, edge := range n.edges {
		edges[i] = walk.Edge{From: n.node[edge.from], To: n.node[edge.to], Weight: edge.weight}
	}
	n.adjacency = walk.NewAdjacency(len(n.chunks), edges, leastWeight)
}

// walk returns the score of each node.
func (n *neighborhood) walk(ctx context.Context, seeds []seed, o walk.Options) ([]float64, error) {
	from := make([]walk.Seed, len(seeds))
	for i, seed := range seeds {
		from[i] = walk.Seed{Node: n.node[seed.ChunkRef], Weight: seed.weight}
	}
	return n.adjacency.Walk(ctx, from, o)
}

// edgeRow is an edge as edgesFrom selects it.
type edgeRow struct {
	FromDocument string
	FromOrdinal  int
	ToDocument   string
	ToOrdinal    int
	Type         string
	Name         string
	Definitions  int
	Mentions     int
	Cosine       float64
}

func (r edgeRow) edge() chunkEdge {
	e := chunkEdge{from: ChunkRef{r.FromDocument, r.FromOrdinal}, to: ChunkRef{r.ToDocument, r.ToOrdinal}}
	switch r.Type {
	case mentionRow:
		e.kind, e.weight, e.label, e.name = Mention, mentionWeight(r.Definitions, r.Mentions), "names "+strconv.Quote(r.Name), r.Name
	case similarRow:
		e.kind, e.cosine, e.weight = Similar, r.Cosine, similarWeight*r.Cosine
		e.label = fmt.Sprintf("similar %.2f", r.Cosine)
	case sectionRow:
		e.kind, e.weight, e.label = Next, nextWeight, "heads the section of"
	case nextRow:
		e.kind, e.weight, e.label = Next, nextWeight, "next to"
	}
	return e
}

// bytes estimates the memory that the edge takes.
func (e chunkEdge) bytes() int64 {
	return int64(140 + len(e.label) + len(e.name) + len(e.from.DocumentID) + len(e.to.DocumentID))
}

// loader loads edges for one query. It uses the cache for requests without a
// filter.
type loader struct {
	handle   *data.Handle
	plan     walkPlan
	cached   bool
	service  *Service
	version  int64
	deadline time.Time // of all loading for the query
}

// edgeKey is the key of the cache of edges. A changed graph has another version.
type edgeKey struct {
	tenant  tenant.ID
	index   int64
	version int64
	chunk   ChunkRef
}

func (s *Service) loader(p walkPlan, version int64) *loader {
	return &loader{
		handle: p.tables, plan: p, cached: p.request.Filter.IsZero(), service: s, version: version,
		deadline: time.Now().Add(s.bounds.time),
	}
}

func (l *loader) key(chunk ChunkRef) edgeKey {
	return edgeKey{l.plan.tenant, l.plan.index.ID, l.version, chunk}
}

// edgesFrom returns the edges that leave the chunks, in the order of the chunks.
// all is false if there are more than the bound. Errors: Deadline when the time
// for loading is over.
func (l *loader) edgesFrom(ctx context.Context, chunks []ChunkRef) (edges []chunkEdge, all bool, err error) {
	known := map[ChunkRef][]chunkEdge{}
	var missing []ChunkRef
	for _, chunk := range chunks {
		cached, ok := []chunkEdge(nil), false
		if l.cached {
			cached, ok = l.service.edges.Get(l.key(chunk))
		}
		if ok {
			known[chunk] = cached
		} else {
			missing = append(missing, chunk)
		}
	}
	most, left := l.service.bounds.edges, time.Until(l.deadline)
	if left <= 0 {
		return nil, false, context.DeadlineExceeded
	}
	rows, err := edgesFrom(ctx, l.handle, missing, l.plan.request.Filter, most, left)
	if err != nil {
		return nil, false, fmt.Errorf("load the edges of %d chunks: %w", len(missing), err)
	}
	for _, row := range rows {
		edge := row.edge()
		known[edge.from] = append(known[edge.from], edge)
	}
	if all = len(rows) < most; all && l.cached {
		for _, chunk := range missing {
			l.service.edges.Put(l.key(chunk), known[chunk])
		}
	}
	for _, chunk := range chunks {
		edges = append(edges, known[chunk]...)
	}
	return edges, all, nil
}
