package index

import (
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/tenant"
)

// makeEdges makes the edge table beside the chunk table.
func makeEdges(ctx context.Context, tx *tenant.Tx, i Index) error {
	if _, err := tx.Exec(ctx, `SELECT tenant.make_edges($1, 'tenant.chunk'::regclass)`, i.ID); err != nil {
		return fmt.Errorf("make the edge table of index %d: %w", i.ID, err)
	}
	return nil
}

// makeEdgesTrigger has the edges of chunks go with them, as make_edges does.
func (i Index) makeEdgesTrigger() string {
	return fmt.Sprintf(`CREATE TRIGGER chunks_dropped AFTER DELETE ON tenant.chunk REFERENCING OLD TABLE AS gone
		FOR EACH STATEMENT EXECUTE FUNCTION tenant.drop_edges('%d')`, i.ID)
}

// GraphCounts are what the graph of an index holds.
type GraphCounts struct {
	Version      int64 // grows with every change
	Names        int64 // names that chunks have
	Mentions     int64 // names that chunks mention
	Similarities int64 // pairs of chunks that are near by embedding
}

// GraphCountsOf returns what the graph of an index holds, in constant time.
func GraphCountsOf(ctx context.Context, q tenant.Queryer, indexID int64) (GraphCounts, error) {
	return tenant.Get[GraphCounts](ctx, q, `
		SELECT coalesce(sum(g.version), 0)::bigint AS version, coalesce(sum(g.names), 0)::bigint AS names,
			coalesce(sum(g.mentions), 0)::bigint AS mentions, coalesce(sum(g.similarities), 0)::bigint AS similarities
		FROM tenant.graph_counts AS g WHERE g.index_id = $1`, indexID)
}
