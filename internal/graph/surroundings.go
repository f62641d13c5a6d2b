package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ragdhq/ragd/internal/tenant"
)

// Bounds of what is loaded for one query.
const (
	// maxHops is how far from the seeds edges are followed. With the default
	// restart one in eight walkers gets that far.
	maxHops  = 3
	maxNodes = 5_000
	maxEdges = 50_000
)

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
	cut       bool // not all that is there was loaded
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
	for range maxHops {
		from := frontier
		frontier = nil
		edges, err := loader.edgesFrom(ctx, from)
		if err != nil {
			return nil, err
		}
		for _, edge := range edges {
			if !slices.Contains(p.types, edge.kind) || edge.kind == Similar && edge.cosine < p.threshold {
				continue
			}
			if len(around.edges) >= maxEdges || len(around.places) >= maxNodes {
				around.cut = true
				break
			}
			around.edges = append(around.edges, edge)
			reach(edge.to)
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
		handle: s.db.Handle(p.tenant).OfIndex(p.index.ID, p.index.Generation), plan: p, cached: p.request.Filter.IsZero(), service: s, version: version,
	}
}

func (l *loader) key(place Place) edgeKey {
	return edgeKey{l.plan.tenant, l.plan.index.ID, l.version, place}
}

// edgesFrom returns the edges that leave the places, in the order of the places.
func (l *loader) edgesFrom(ctx context.Context, places []Place) ([]placedEdge, error) {
	known := map[Place][]placedEdge{}
	var missing []Place
	for _, place := range places {
		edges, ok := []placedEdge(nil), false
		if l.cached {
			edges, ok = l.service.edges.Get(l.key(place))
		}
		if ok {
			known[place] = edges
		} else {
			missing = append(missing, place)
		}
	}
	rows, err := edgesFrom(ctx, l.handle, missing, l.plan.request.Filter)
	if err != nil {
		return nil, fmt.Errorf("load the edges of %d chunks: %w", len(missing), err)
	}
	for _, row := range rows {
		edge := row.edge()
		known[edge.from] = append(known[edge.from], edge)
	}
	if l.cached && len(rows) < maxEdges {
		for _, place := range missing {
			bytes := int64(100)
			for _, edge := range known[place] {
				bytes += edge.bytes()
			}
			l.service.edges.Put(l.key(place), known[place], bytes)
		}
	}
	var all []placedEdge
	for _, place := range places {
		all = append(all, known[place]...)
	}
	return all, nil
}
