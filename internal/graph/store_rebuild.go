package graph

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// beginRebuild marks the job as running and returns its index. Errors: errEnded.
func beginRebuild(ctx context.Context, h *tenant.Handle, args index.RebuildArgs) (index.Index, error) {
	i, err := tenant.Get[struct {
		IndexName    string
		Generation   int
		Metric       index.Metric
		VectorType   index.VectorType
		IndexConfig  index.Config
		TextLanguage string
	}](ctx, h, `
		WITH run AS (
			UPDATE tenant.jobs SET status = 'running', attempts = attempts + 1, updated_at = now(), done = 0,
				total = (SELECT count(*) FROM tenant.documents AS d WHERE d.index_id = $1 AND d.chunk_count > 0)
			WHERE job_id = $2 AND status IN ('queued', 'running') RETURNING 1
		), linked AS (
			UPDATE tenant.indexes SET similar_edges_missing = false WHERE index_id = $1 AND similar_edges_missing AND EXISTS (SELECT FROM run)
		)
		SELECT i.index_name, i.generation, i.metric, i.vector_type, i.index_config, i.text_language
		FROM tenant.indexes AS i CROSS JOIN run WHERE i.index_id = $1`, args.IndexID, args.JobID)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errEnded
	}
	return index.Index{
		ID: args.IndexID, Generation: i.Generation, Name: i.IndexName, Metric: i.Metric, VectorType: i.VectorType, Config: i.IndexConfig, TextLanguage: i.TextLanguage,
	}, err
}

// progressOf writes how many documents are done. Errors: errEnded.
func progressOf(ctx context.Context, h *tenant.Handle, args index.RebuildArgs, done int) error {
	n, err := h.Exec(ctx, `
		UPDATE tenant.jobs SET done = $2, total = greatest(total, $2), updated_at = now()
		WHERE job_id = $1 AND status = 'running'`, args.JobID, done)
	if err == nil && n == 0 {
		return errEnded
	}
	return err
}

// endRebuild says what was counted and ends the job. Chunks that could not be linked
// meanwhile are, if they can be now.
func endRebuild(ctx context.Context, h *tenant.Handle, args index.RebuildArgs, components int) error {
	queue, err := river.ClientFromContextSafely[pgx.Tx](ctx)
	if err != nil {
		return err
	}
	return h.Tx(ctx, func(tx *tenant.Tx) error {
		if _, err := tx.Exec(ctx, `
			UPDATE tenant.indexes SET graph_components = $2, graph_counted_at = now(),
				graph_job_id = CASE WHEN graph_job_id = $3 THEN NULL ELSE graph_job_id END
			WHERE index_id = $1`, args.IndexID, components, args.JobID); err != nil {
			return err
		}
		if err := index.EndJob(ctx, tx, args.JobID); err != nil {
			return err
		}
		return index.LinkIfDue(ctx, queue, tx, args.Tenant, args.IndexID)
	})
}

// failRebuild records a failed attempt, and gives up if it was the last.
func failRebuild(ctx context.Context, h *tenant.Handle, args index.RebuildArgs, reason string, final bool) error {
	// The attempt may have failed because its time was over.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return h.Tx(ctx, func(tx *tenant.Tx) error {
		if err := index.FailAttempt(ctx, tx, args.JobID, reason, final); err != nil || !final {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE tenant.indexes SET graph_job_id = NULL WHERE graph_job_id = $1`, args.JobID)
		return err
	})
}

// maxCounted is the largest number of chunks whose components are counted, which
// happens in memory.
const maxCounted = 1_000_000

// countComponents returns the number of connected components of a graph, or 0 if
// it has more than maxCounted chunks.
func countComponents(ctx context.Context, h *tenant.Handle, i index.Index) (int, error) {
	settings, err := index.GraphOf(ctx, h, i.ID)
	if err != nil || settings.Off {
		return 0, err
	}
	count, err := tenant.Value[int64](ctx, h, `
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
