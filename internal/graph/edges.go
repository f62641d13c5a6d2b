package graph

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// MaxListedEdges is the number of edges of one chunk that are listed at most in each direction:
// those of the rarest names.
const MaxListedEdges = 2000

// Direction says which way a walk follows an edge of a chunk. The values are those of the API.
type Direction string

// The directions.
const (
	Out  Direction = "out"  // from the chunk
	In   Direction = "in"   // to the chunk
	Both Direction = "both" // either way
)

// ChunkEdge is an edge between a chunk, which the caller names, and another.
type ChunkEdge struct {
	Type      EdgeType
	Direction Direction
	Label     string  // as Edge.Label
	Weight    float64 // relative to other edges; a step takes an edge with a probability in proportion
	Other     query.Source
}

// edgeRank is the place of an edge in the list: heaviest first.
type edgeRank struct {
	Weight    float64   `json:"w"`
	Direction Direction `json:"d"`
	Document  string    `json:"id"`
	Ordinal   int       `json:"n"`
	Label     string    `json:"l"`
}

func (e ChunkEdge) rank() edgeRank {
	return edgeRank{e.Weight, e.Direction, e.Other.DocumentID, e.Other.Ordinal, e.Label}
}

func compareRanks(a, b edgeRank) int {
	return cmp.Or(
		cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.Document, b.Document),
		cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Label, b.Label),
	)
}

// Edges returns a page of the edges of a stored graph at a chunk, heaviest first, and the token of the
// next page. Errors: NotFound, also for a chunk that the credential's filter hides; Precondition for an
// index without a graph.
func (s *Service) Edges(ctx context.Context, indexName string, chunk ChunkRef, pageSize int32, pageToken string) (page []ChunkEdge, next string, err error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	if _, err := uuid.Parse(chunk.DocumentID); err != nil {
		return nil, "", fault.Field("documentId", "must be the id of a document")
	}
	if chunk.Ordinal < 0 {
		return nil, "", fault.Field("ordinal", "must not be negative, got %d", chunk.Ordinal)
	}
	asked, err := r.Resolve(r.Overrides.Filter)
	if err != nil {
		return nil, "", err
	}
	visible := filter.And(r.Principal.MandatoryFilter, asked)
	err = s.indexes.Use(ctx, r.Tenant, *cmp.Or(r.Overrides.IndexName, &indexName), func(i index.Index, tables *data.Handle) error {
		if i.Graph.Off {
			return fault.New(fault.Precondition, "index %q keeps no graph: change its graph by UpdateIndex", i.Name)
		}
		tokens := access.Pages(ctx, "edges", i.Name, chunk.DocumentID, fmt.Sprint(chunk.Ordinal), visible.String())
		first := edgeRank{Weight: math.Inf(1)}
		page, next, err = pagination.List(tokens, pageSize, pageToken, first, ChunkEdge.rank, func(after edgeRank, most int) ([]ChunkEdge, error) {
			edges, err := edgesAt(ctx, tables, i, chunk, visible)
			from, _ := slices.BinarySearchFunc(edges, after, func(e ChunkEdge, rank edgeRank) int { return cmp.Or(compareRanks(e.rank(), rank), -1) })
			return edges[from:min(from+most, len(edges))], err
		})
		if err != nil {
			return err
		}
		page, err = withOthers(ctx, tables, i, page, visible)
		return err
	})
	return page, next, err
}

// edgesAt returns the edges of a chunk in the order of the list. Of the other chunks it has the
// document and the ordinal alone.
func edgesAt(ctx context.Context, h *data.Handle, i index.Index, chunk ChunkRef, visible filter.Filter) ([]ChunkEdge, error) {
	known, err := sourcesOf(ctx, h, i, []ChunkRef{chunk}, visible, false)
	if err != nil {
		return nil, err
	}
	if len(known) == 0 {
		return nil, fault.New(fault.NotFound, "document %s has no chunk %d", chunk.DocumentID, chunk.Ordinal)
	}
	from, err := edgesFrom(ctx, h, []ChunkRef{chunk}, visible, MaxListedEdges, loadTimeout)
	if err != nil {
		return nil, err
	}
	into, err := edgesInto(ctx, h, chunk, visible, MaxListedEdges)
	if err != nil {
		return nil, err
	}
	var edges []ChunkEdge
	add := func(row edgeRow, direction Direction, other func(chunkEdge) ChunkRef) {
		edge := row.edge()
		if row.Type == nextRow || row.Type == similarRow {
			direction = Both
		}
		if !i.Graph.Keeps(string(edge.kind)) {
			return
		}
		ref := other(edge)
		edges = append(edges, ChunkEdge{Type: edge.kind, Direction: direction, Label: edge.label, Weight: edge.weight, Other: query.Source{DocumentID: ref.DocumentID, Ordinal: ref.Ordinal}})
	}
	for _, row := range from {
		add(row, Out, func(e chunkEdge) ChunkRef { return e.to })
	}
	for _, row := range into {
		add(row, In, func(e chunkEdge) ChunkRef { return e.from })
	}
	slices.SortFunc(edges, func(a, b ChunkEdge) int { return compareRanks(a.rank(), b.rank()) })
	return edges, nil
}

// withOthers reads the other chunks of edges, and leaves out edges whose other chunk was deleted in
// between.
func withOthers(ctx context.Context, h *data.Handle, i index.Index, edges []ChunkEdge, visible filter.Filter) ([]ChunkEdge, error) {
	others := make([]ChunkRef, len(edges))
	for n, edge := range edges {
		others[n] = chunkOf(edge.Other)
	}
	known, err := sourcesOf(ctx, h, i, others, visible, false)
	kept := edges[:0]
	for n, edge := range edges {
		if source, ok := known[others[n]]; ok {
			edge.Other = source
			kept = append(kept, edge)
		}
	}
	return kept, err
}
