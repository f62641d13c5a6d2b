package graph

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// beginRebuild marks the job running and returns its index and the number of
// documents to do. Errors: job.ErrEnded.
func beginRebuild(ctx context.Context, h *data.Handle, task job.Task) (i index.Index, documents int, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) (err error) {
		if err := job.Begin(ctx, tx, task.JobID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE tenant.indexes SET similar_edges_missing = false WHERE index_id = $1 AND similar_edges_missing`, task.IndexID); err != nil {
			return err
		}
		if i, err = index.ByID(ctx, tx, task.IndexID); fault.KindOf(err) == fault.NotFound {
			return job.ErrEnded
		}
		if err != nil {
			return err
		}
		documents, err = data.Value[int](ctx, tx, `SELECT count(*) FROM tenant.documents AS d WHERE d.index_id = $1 AND d.chunk_count > 0`, task.IndexID)
		if err != nil {
			return err
		}
		return job.Progress(ctx, tx, task.JobID, 0, documents)
	})
	return i, documents, err
}

// end stores the number of components and marks the job succeeded. It starts
// another job if chunks were stored without similar edges meanwhile.
func (r *Rebuilder) end(ctx context.Context, h *data.Handle, task job.Task, components int) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		if _, err := tx.Exec(ctx, `
			UPDATE tenant.indexes SET graph_components = $2, graph_counted_at = now(),
				graph_job_id = CASE WHEN graph_job_id = $3 THEN NULL ELSE graph_job_id END
			WHERE index_id = $1`, task.IndexID, components, task.JobID); err != nil {
			return err
		}
		if err := job.Succeed(ctx, tx, task.JobID); err != nil {
			return err
		}
		return startLinking(ctx, r.queue, tx, task.IndexID)
	})
}

// failRebuild records a failed attempt and, if it was the last, ends the job.
func failRebuild(ctx context.Context, h *data.Handle, task job.Task, reason string, last bool) error {
	// The attempt may have failed because its deadline passed.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return h.Tx(ctx, func(tx *data.Tx) error {
		if err := job.FailAttempt(ctx, tx, task.JobID, 0, reason, last); err != nil || !last {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE tenant.indexes SET graph_job_id = NULL WHERE graph_job_id = $1`, task.JobID)
		return err
	})
}

// maxCounted is the largest number of chunks whose components are counted, which
// happens in memory.
const maxCounted = 1_000_000

// countComponents returns the number of connected components of a graph, or 0 if
// it has more than maxCounted chunks.
func countComponents(ctx context.Context, h *data.Handle, i index.Index) (int, error) {
	settings, hasEdges, err := index.GraphOf(ctx, h, i.ID)
	if err != nil || settings.Off {
		return 0, err
	}
	if !hasEdges {
		h = index.WithoutEdges(h)
	}
	count, err := data.Value[int64](ctx, h, `
		SELECT coalesce(sum(d.chunk_count), 0)::bigint FROM tenant.documents AS d WHERE d.index_id = $1`, i.ID)
	if err != nil || count > maxCounted {
		return 0, err
	}
	found := newComponents(int(count))
	b := h.Batch()
	b.Query(func(rows pgx.Rows) error {
		var chunk ChunkRef
		_, err := pgx.ForEachRow(rows, []any{&chunk.DocumentID, &chunk.Ordinal}, func() error {
			found.add(chunk)
			if settings.Keeps(string(Next)) && chunk.Ordinal > 0 {
				found.join(chunk, ChunkRef{chunk.DocumentID, chunk.Ordinal - 1})
			}
			return nil
		})
		return err
	}, `SELECT c.document_id::text, c.ordinal FROM tenant.chunk AS c WHERE c.document_id IS NOT NULL`)
	b.Query(func(rows pgx.Rows) error {
		var from, to ChunkRef
		_, err := pgx.ForEachRow(rows, []any{&from.DocumentID, &from.Ordinal, &to.DocumentID, &to.Ordinal}, func() error {
			found.join(from, to)
			return nil
		})
		return err
	}, `
		WITH followed AS (
			SELECT e.key FROM tenant.edge AS e WHERE e.type IN ('name', 'mention') GROUP BY e.key
			HAVING count(*) FILTER (WHERE e.type = 'name') BETWEEN 1 AND $1 AND count(*) FILTER (WHERE e.type = 'mention') BETWEEN 1 AND $2
		)
		SELECT m.document_id::text, m.ordinal, n.document_id::text, n.ordinal
		FROM followed JOIN tenant.edge AS m USING (key) JOIN tenant.edge AS n USING (key) WHERE m.type = 'mention' AND n.type = 'name'
		UNION ALL
		SELECT e.document_id::text, e.ordinal, e.to_document_id::text, e.to_ordinal FROM tenant.edge AS e WHERE e.type = 'similar'`,
		maxDefinitions, maxMentions)
	return found.count, b.Run(ctx)
}
