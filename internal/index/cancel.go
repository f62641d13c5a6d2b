package index

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Runners returns the runners of the kinds of jobs of this package.
func (s *Service) Runners(m *Maintainer, r *Reembedder) job.Registry {
	return job.Registry{
		job.Maintain: {Run: m.run, Timeout: maintenanceTimeout},
		job.Build:    {Cancel: s.cancelBuild, Retry: s.retryBuild}, // Maintain runs it
		job.Reembed: {
			Run: r.run, Lane: job.LaneReembed, MaxAttempts: reembedAttempts, Timeout: maintenanceTimeout,
			Cancel: s.cancelReembed,
		},
	}
}

// cancelBuild cancels a build. The index keeps its old Postgres index. Errors: Precondition
// when it has none, and when the build has ended.
func (s *Service) cancelBuild(ctx context.Context, id tenant.ID, j job.Job) error {
	h := s.db.Handle(id)
	row, err := data.Get[indexRow](ctx, h, `SELECT `+indexColumns+` FROM tenant.indexes AS i WHERE i.build_job_id = $1`, j.JobID)
	if errors.Is(err, pgx.ErrNoRows) {
		return justEnded(j)
	}
	if err != nil {
		return err
	}
	if !row.Built && row.IndexConfig.Type != Flat {
		return fault.New(fault.Precondition, "index %q has no other Postgres index over its embeddings: change its indexConfig.type to flat to do without one", row.IndexName)
	}
	defer s.known.forget(id, row.IndexName)
	err = h.Tx(ctx, func(tx *data.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE tenant.indexes SET build_job_id = NULL WHERE index_id = $1 AND build_job_id = $2`, row.IndexID, j.JobID)
		if err != nil {
			return err
		}
		return job.Cancel(ctx, tx, j.JobID, job.CancelledOnRequest)
	})
	if err != nil {
		return err
	}
	return stopBuild(ctx, h.OfIndex(row.IndexID, row.Generation))
}

// retryBuild builds the Postgres index again and returns the id of the new job.
func (s *Service) retryBuild(ctx context.Context, _ tenant.ID, failed job.Job) (jobID string, err error) {
	return s.Build(ctx, failed.IndexName)
}

func justEnded(j job.Job) error {
	return fault.New(fault.Precondition, "job %q has just ended: there is nothing to cancel", j.JobID)
}
