package graph

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Counts is the size of the graph of an index.
type Counts struct {
	Version      int64 // grows with every change
	Names        int64 // names that chunks have
	Mentions     int64 // names that chunks mention
	Similarities int64 // pairs of similar chunks
	Components   int64 // connected components, as of CountedAt; 0: not counted
	CountedAt    *time.Time
}

// reader returns a handle for reading the graph, which has no edge table before its
// first edges.
func (c Counts) reader(h *data.Handle) *data.Handle {
	if c.Version > 0 {
		return h
	}
	return index.WithoutEdges(h)
}

// Counts returns the size of the graph of an index, in constant time. For a
// credential with a mandatory filter all values are 0, as they would tell of
// hidden documents.
func (s *Service) Counts(ctx context.Context, indexID int64) (Counts, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil || !r.Principal.MandatoryFilter.IsZero() {
		return Counts{}, err
	}
	return countsOf(ctx, s.db.Handle(r.Tenant), indexID)
}

// countsOf reads the size of the graph of an index.
func countsOf(ctx context.Context, q data.Queryer, indexID int64) (Counts, error) {
	return data.Get[Counts](ctx, q, `
		SELECT g.*, coalesce(i.graph_components, 0) AS components, i.graph_counted_at AS counted_at
		FROM (
			SELECT coalesce(sum(g.graph_version), 0)::bigint AS version, coalesce(sum(g.names), 0)::bigint AS names,
				coalesce(sum(g.mentions), 0)::bigint AS mentions, coalesce(sum(g.similarities), 0)::bigint AS similarities
			FROM tenant.index_counts AS g WHERE g.index_id = $1
		) AS g LEFT JOIN tenant.indexes AS i ON i.index_id = $1`, indexID)
}
