package index

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// countTimeout limits the duration of a count, whose filter may be slow.
const countTimeout = "20s"

// visibleCounts counts the chunks and documents of an index that a filter selects, in
// time proportional to their number. The totals would tell a credential with a
// mandatory filter how much it does not see.
func visibleCounts(ctx context.Context, h *data.Handle, i Index, visible filter.Filter) (c Counts, err error) {
	b := h.OfIndex(i.ID, i.Generation).Batch()
	b.Set("statement_timeout", countTimeout)
	args := filter.NewArgs()
	b.Query(func(rows pgx.Rows) (err error) {
		c.Chunks, err = pgx.CollectOneRow(rows, pgx.RowTo[int64])
		return err
	}, `SELECT count(*) FROM tenant.chunk AS c WHERE `+visible.SQL(filter.ChunkMetadata, args, i.MetadataIndexes...), args.Values()...)
	args = filter.NewArgs(i.ID)
	b.Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectOneRow(rows, pgx.RowToStructByPos[struct{ Ready, Pending, Failed int64 }])
		c.ReadyDocuments, c.PendingDocuments, c.FailedDocuments = found.Ready, found.Pending, found.Failed
		return err
	}, `
		SELECT count(*) FILTER (WHERE d.status = 'ready') AS ready,
			count(*) FILTER (WHERE d.status IN ('pending', 'processing')) AS pending,
			count(*) FILTER (WHERE d.status IN ('failed', 'needs_ocr')) AS failed
		FROM tenant.documents AS d WHERE d.index_id = $1 AND `+visible.SQL("d.metadata", args), args.Values()...)
	return c, b.Run(ctx)
}
