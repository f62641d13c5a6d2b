package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// maxHops is how far from the seeds edges are followed. With the default restart
// one in eight walkers gets that far.
const maxHops = 3

// bounds are what is loaded for one query at most. What lies beyond is left out,
// and the answer says so.
type bounds struct {
	nodes, edges int
	bytes        int64 // of edges in memory
	time         time.Duration
}

var defaultBounds = bounds{nodes: 5_000, edges: 50_000, bytes: 16 << 20, time: 5 * time.Second}

// tooLarge and tooSlow say which bound was met.
func (b bounds) tooLarge() string {
	return fmt.Sprintf("the graph around the seeds is larger than %d chunks, %d edges or %d MiB: the walk saw a part of it", b.nodes, b.edges, b.bytes>>20)
}

func (b bounds) tooSlow() string {
	return fmt.Sprintf("loading the graph around the seeds took longer than %v: the walk saw a part of it", b.time)
}

// seed is a place where walks begin, and why.
type seed struct {
	Place
	weight float64
	words  string
}

// surroundings are the part of an index's graph around the seeds of a question.
type surroundings struct {
	places    []Place // ascending; their positions are the nodes of the walk
	node      map[Place]int32
	edges     []placedEdge
	adjacency *Adjacency
	cut       string // why not all that is there was loaded; else empty
}

// placedEdge is an edge as it is loaded.
type placedEdge struct {
	from, to Place
	kind     EdgeType
	cosine   float64
	weight   float64
	words    string
}

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.DocumentID, b.DocumentID), cmp.Compare(a.Ordinal, b.Ordinal))
}

// surround loads what lies around the seeds, a hop in each round trip, as far as
// the request's filter lets it be seen: a hidden chunk is never reached, so
// nothing is reached through it.
func (s *Service) surround(ctx context.Context, p walkPlan, version int64, seeds []seed) (*surroundings, error) {
	loader := s.loader(p, version)
	around := &surroundings{node: map[Place]int32{}}
	var frontier []Place
	reach := func(place Place) {
		if _, seen := around.node[place]; !seen {
			around.node[place] = 0
			around.places = append(around.places, place)
			frontier = append(frontier, place)
		}
	}
	for _, seed := range seeds {
		reach(seed.Place)
	}
	bytes := int64(0)
	for range maxHops {
		from := frontier
		frontier = nil
		edges, all, err := loader.edgesFrom(ctx, from)
		if ctx.Err() == nil && fault.KindOf(err) == fault.Deadline {
			around.cut = s.bounds.tooSlow()
			break
		}
		if err != nil {
			return nil, err
		}
		if !all {
			around.cut = s.bounds.tooLarge()
		}
		for _, edge := range edges {
			if !slices.Contains(p.types, edge.kind) || edge.kind == Similar && edge.cosine < p.threshold {
				continue
			}
			if bytes += edge.bytes(); len(around.edges) >= s.bounds.edges || len(around.places) >= s.bounds.nodes || bytes > s.bounds.bytes {
				around.cut = s.bounds.tooLarge()
				break
			}
			around.edges = append(around.edges, edge)
			reach(edge.to)
		}
		if around.cut != "" {
			break
		}
	}
	around.number()
	return around, nil
}

// number makes nodes of places in an order that does not depend on that of
// loading, so that sums come out the same to the last bit.
func (s *surroundings) number() {
	slices.SortFunc(s.places, comparePlaces)
	for i, place := range s.places {
		s.node[place] = int32(i)
	}
	links := make([]Link, len(s.edges))
	for i, edge := range s.edges {
		links[i] = Link{s.node[edge.from], s.node[edge.to], edge.weight}
	}
	s.adjacency = NewAdjacency(len(s.places), links, Shape{Least: leastWeight})
}

// walk returns the share of each node.
func (s *surroundings) walk(seeds []seed, w Walk) []float64 {
	from := make([]Seed, len(seeds))
	for i, seed := range seeds {
		from[i] = Seed{s.node[seed.Place], seed.weight}
	}
	return s.adjacency.Walk(from, w)
}

// edgeRow is an edge as a statement returns it.
type edgeRow struct {
	FromDocument string
	FromOrdinal  int
	ToDocument   string
	ToOrdinal    int
	Type         int
	Name         string
	Definitions  int
	Mentions     int
	Cosine       float64
}

func (r edgeRow) edge() placedEdge {
	e := placedEdge{from: Place{r.FromDocument, r.FromOrdinal}, to: Place{r.ToDocument, r.ToOrdinal}}
	switch r.Type {
	case mentionRow:
		e.kind, e.weight, e.words = Mention, mentionWeight(r.Definitions, r.Mentions), "names "+strconv.Quote(r.Name)
	case similarRow:
		e.kind, e.cosine, e.weight = Similar, r.Cosine, similarWeight*r.Cosine
		e.words = fmt.Sprintf("similar %.2f", r.Cosine)
	case partRow:
		e.kind, e.weight, e.words = Next, nextWeight, "heads the section of"
	default:
		e.kind, e.weight, e.words = Next, nextWeight, "next to"
	}
	return e
}

// bytes is about what the edge takes in memory.
func (e placedEdge) bytes() int64 {
	return int64(120 + len(e.words) + len(e.from.DocumentID) + len(e.to.DocumentID))
}

// loader loads edges for one query, from memory where nothing is hidden from the
// caller and the chunk was asked for before in the same version of the graph.
type loader struct {
	handle  *tenant.Handle
	plan    walkPlan
	cached  bool
	service *Service
	version int64
	until   time.Time // when loading must be done
}

// edgeKey is what edges are remembered by.
type edgeKey struct {
	tenant  tenant.ID
	index   int64
	version int64
	place   Place
}

func (s *Service) loader(p walkPlan, version int64) *loader {
	return &loader{
		handle: p.tables, plan: p, cached: p.request.Filter.IsZero(), service: s, version: version,
		until: time.Now().Add(s.bounds.time),
	}
}

func (l *loader) key(place Place) edgeKey {
	return edgeKey{l.plan.tenant, l.plan.index.ID, l.version, place}
}

// edgesFrom returns the edges that leave the places, in the order of the places,
// and whether these are all. Errors: Deadline when the time for loading is over.
func (l *loader) edgesFrom(ctx context.Context, places []Place) (edges []placedEdge, all bool, err error) {
	known := map[Place][]placedEdge{}
	var missing []Place
	for _, place := range places {
		remembered, ok := []placedEdge(nil), false
		if l.cached {
			remembered, ok = l.service.edges.Get(l.key(place))
		}
		if ok {
			known[place] = remembered
		} else {
			missing = append(missing, place)
		}
	}
	most, left := l.service.bounds.edges, time.Until(l.until)
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
		for _, place := range missing {
			bytes := int64(100)
			for _, edge := range known[place] {
				bytes += edge.bytes()
			}
			l.service.edges.Put(l.key(place), known[place], bytes)
		}
	}
	for _, place := range places {
		edges = append(edges, known[place]...)
	}
	return edges, all, nil
}
