package index

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// CancelJob ends a job of a kind on a whole index, which goes on with what it has.
// Errors: Precondition when it cannot, and when the job has ended.
func (s *Service) CancelJob(ctx context.Context, id tenant.ID, kind, jobID string) error {
	if kind == reembedKind {
		return s.cancelReembed(ctx, id, jobID)
	}
	return s.cancelBuild(ctx, id, jobID)
}

// cancelBuild ends a build: the index goes on with the Postgres index that it has.
func (s *Service) cancelBuild(ctx context.Context, id tenant.ID, jobID string) error {
	h := s.db.Handle(id)
	if ended, err := s.cancelRebuild(ctx, h, jobID); err != nil || ended {
		return err
	}
	row, err := tenant.Get[indexRow](ctx, h, `SELECT `+indexColumns+` FROM tenant.indexes AS i WHERE i.build_job_id = $1`, jobID)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.Precondition, "job %q has just ended: there is nothing to cancel", jobID)
	}
	if err != nil {
		return err
	}
	if !row.Built && row.IndexConfig.Type != Flat {
		return fault.New(fault.Precondition, "index %q has no other Postgres index over its embeddings: change its indexConfig.type to flat to do without one", row.IndexName)
	}
	defer s.known.forget(id, row.IndexName)
	b := h.Batch()
	b.Exec(`UPDATE tenant.indexes SET build_job_id = NULL WHERE index_id = $1 AND build_job_id = $2`, row.IndexID, jobID)
	b.Exec(`
		UPDATE tenant.jobs SET status = 'cancelled', error = 'cancelled on request', updated_at = now()
		WHERE job_id = $1 AND status IN ('queued', 'running')`, jobID)
	if err := b.Run(ctx); err != nil {
		return err
	}
	return h.OfIndex(row.IndexID, row.Generation).CancelBuild(ctx)
}

// RetryJob starts another job of a kind on an index and returns its id.
func (s *Service) RetryJob(ctx context.Context, kind, indexName string) (jobID string, err error) {
	switch kind {
	case RebuildKind:
		return s.RebuildGraph(ctx, indexName)
	case buildKind:
		return s.Build(ctx, indexName)
	default:
		return "", fault.New(fault.Precondition, "a job of kind %s cannot be tried again: ask for what it did again", kind)
	}
}
