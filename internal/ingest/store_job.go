package ingest

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/tenant"
)

const jobColumns = `j.job_id::text, j.kind, j.status, j.index_name, j.document_id::text, j.done, j.total, j.unit, j.attempts, j.error, j.extraction, j.created_at, j.updated_at`

// jobVisible is a condition on jobs AS j: whether the filter lets the job's
// document be seen.
func jobVisible(f filter.Filter, args *filter.Args) string {
	if f.IsZero() {
		return "true"
	}
	return `EXISTS (SELECT FROM tenant.documents AS d WHERE d.document_id = j.document_id AND ` + f.SQL("d.metadata", args) + `)`
}

func jobByID(ctx context.Context, q tenant.Queryer, jobID string, visible filter.Filter) (Job, error) {
	notFound := fault.New(fault.NotFound, "job %q not found", shorten(jobID))
	if !isID(jobID) {
		return Job{}, notFound
	}
	args := filter.NewArgs(jobID)
	job, err := tenant.Get[Job](ctx, q, `
		SELECT `+jobColumns+` FROM tenant.jobs AS j
		WHERE j.job_id = $1 AND `+jobVisible(visible, args), args.Values()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return job, notFound
	}
	return job, err
}

// jobPosition is the sort key of a list of jobs: newest first.
type jobPosition struct {
	CreatedAt time.Time `json:"t"`
	JobID     string    `json:"id"`
}

func jobs(ctx context.Context, q tenant.Queryer, status string, visible filter.Filter, after *jobPosition, limit int) ([]Job, error) {
	var afterTime *time.Time
	afterID := uuid.Nil.String()
	if after != nil {
		afterTime, afterID = &after.CreatedAt, after.JobID
	}
	args := filter.NewArgs(status, afterTime, afterID, limit)
	return tenant.Select[Job](ctx, q, `
		SELECT `+jobColumns+` FROM tenant.jobs AS j
		WHERE ($1 = '' OR j.status = $1)
			AND ($2::timestamptz IS NULL OR (j.created_at, j.job_id) < ($2, $3::uuid))
			AND `+jobVisible(visible, args)+`
		ORDER BY j.created_at DESC, j.job_id DESC LIMIT $4`, args.Values()...)
}
