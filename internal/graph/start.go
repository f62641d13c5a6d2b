package graph

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Rebuild starts a job that finds the edges of all documents of an index anew, and
// returns its id, or the id of the job on the graph that is under way. Errors:
// NotFound.
func (s *Service) Rebuild(ctx context.Context, indexName string) (jobID string, err error) {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return "", err
	}
	err = s.db.Handle(r.Tenant).Tx(ctx, func(tx *data.Tx) error {
		i, err := index.ByName(ctx, tx, indexName)
		if err != nil {
			return err
		}
		jobID, err = startJob(ctx, s.queue, tx, job.Graph, i.ID)
		if err == nil && jobID == "" {
			return index.NotFound(ctx, tx, indexName)
		}
		return err
	})
	return jobID, err
}

// startJob starts a job on the graph of an index by a task of the kind job.Graph
// or job.Link, and returns its id: that of the job under way if there is one, ""
// if the index does not exist any more.
func startJob(ctx context.Context, queue *job.Queue, tx *data.Tx, task job.Kind, indexID int64) (jobID string, err error) {
	jobID = uuid.Must(uuid.NewV7()).String()
	claimed, err := data.Get[struct{ IndexName, JobID string }](ctx, tx, `
		UPDATE tenant.indexes SET graph_job_id = coalesce(graph_job_id, $2::uuid) WHERE index_id = $1
		RETURNING index_name, graph_job_id::text AS job_id`, indexID, jobID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil || claimed.JobID != jobID {
		return claimed.JobID, err
	}
	if err := job.Insert(ctx, tx, job.Start{JobID: jobID, Kind: job.Graph, IndexName: claimed.IndexName, Unit: "documents"}); err != nil {
		return "", err
	}
	return jobID, queue.Enqueue(ctx, tx, task, indexID, jobID)
}

// startLinking starts a job that adds the missing similar edges of an index, if
// there are any and they can be found now. It does nothing while another job that
// ends by calling it is under way.
func startLinking(ctx context.Context, queue *job.Queue, tx *data.Tx, indexID int64) error {
	due, err := data.Value[bool](ctx, tx, `
		SELECT EXISTS (
			SELECT FROM tenant.indexes AS i
			WHERE i.index_id = $1 AND i.similar_edges_missing AND i.index_config->>'type' = $2 AND i.build_job_id IS NULL AND i.graph_job_id IS NULL
		)`, indexID, index.HNSW)
	if err != nil || !due {
		return err
	}
	if loading, err := isLoading(ctx, tx, indexID); err != nil || loading {
		return err
	}
	_, err = startJob(ctx, queue, tx, job.Link, indexID)
	return err
}

// loadDocuments is the number of new documents on their way into an index that
// make a load.
const loadDocuments = 200

// isLoading reports whether a large index is being loaded and its Postgres index
// is not built yet: finding the chunks similar to each new one would mean reading
// all others. New documents on their way show a load before there are many chunks;
// changed documents do not count, as they do not make an index larger.
func isLoading(ctx context.Context, q data.Queryer, indexID int64) (bool, error) {
	return data.Value[bool](ctx, q, `
		SELECT CASE
			WHEN i.built THEN false
			WHEN n.chunks >= $2 THEN true -- counting documents takes time that grows with them
			WHEN n.pending < $3 THEN false
			ELSE n.chunks + (
				SELECT count(*) FROM (
					SELECT FROM tenant.documents AS w
					WHERE w.index_id = $1 AND w.status IN ('pending', 'processing') AND w.chunk_count = 0 LIMIT $2
				) AS w
			) >= $2 END
		FROM tenant.indexes AS i CROSS JOIN (
			SELECT coalesce(sum(n.chunks), 0) AS chunks, coalesce(sum(n.pending), 0) AS pending
			FROM tenant.index_counts AS n WHERE n.index_id = $1
		) AS n
		WHERE i.index_id = $1`, indexID, index.BuildThreshold, loadDocuments)
}

// noteMissing records that chunks were stored without their similar edges.
func noteMissing(ctx context.Context, h *data.Handle, indexID int64) error {
	_, err := h.Exec(ctx, `UPDATE tenant.indexes SET similar_edges_missing = true WHERE index_id = $1 AND NOT similar_edges_missing`, indexID)
	return err
}

// cancelRebuild ends a job on a graph, which notices before its next documents:
// their edges and those of all later documents stay as they were. Errors:
// Precondition when it has ended.
func (s *Service) cancelRebuild(ctx context.Context, id tenant.ID, j job.Job) error {
	return s.cancel(ctx, id, j, `UPDATE tenant.indexes SET graph_job_id = NULL WHERE graph_job_id = $1`)
}

// cancel ends a job of an index, which the statement clears from it; its argument is the id
// of the job. Errors: Precondition when the job has ended.
func (s *Service) cancel(ctx context.Context, id tenant.ID, j job.Job, clearFromIndex string) error {
	return s.db.Handle(id).Tx(ctx, func(tx *data.Tx) error {
		n, err := tx.Exec(ctx, clearFromIndex, j.JobID)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.Precondition, "job %q has just ended: there is nothing to cancel", j.JobID)
		}
		return job.Cancel(ctx, tx, j.JobID, job.CancelledOnRequest)
	})
}

// retryRebuild starts a job that finds all edges anew and returns its id.
func (s *Service) retryRebuild(ctx context.Context, _ tenant.ID, failed job.Job) (jobID string, err error) {
	return s.Rebuild(ctx, failed.IndexName)
}
