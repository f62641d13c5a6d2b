package ingest

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

const jobColumns = `j.job_id::text, j.kind, j.status, j.index_name, j.document_id::text, j.done, j.total, j.unit, j.attempts, j.error, j.created_at, j.updated_at`

func jobByID(ctx context.Context, q tenant.Queryer, jobID string) (Job, error) {
	notFound := fault.New(fault.NotFound, "job %q not found", shorten(jobID))
	if uuid.Validate(jobID) != nil {
		return Job{}, notFound
	}
	job, err := tenant.Get[Job](ctx, q, `SELECT `+jobColumns+` FROM tenant.jobs AS j WHERE j.job_id = $1`, jobID)
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

func jobs(ctx context.Context, q tenant.Queryer, status string, after *jobPosition, limit int) ([]Job, error) {
	args := pgx.NamedArgs{"status": status, "limit": limit, "after_time": nil, "after_id": nil}
	if after != nil {
		args["after_time"], args["after_id"] = after.CreatedAt, after.JobID
	}
	return tenant.Select[Job](ctx, q, `
		SELECT `+jobColumns+` FROM tenant.jobs AS j
		WHERE (@status = '' OR j.status = @status)
			AND (@after_time::timestamptz IS NULL OR (j.created_at, j.job_id) < (@after_time, @after_id::uuid))
		ORDER BY j.created_at DESC, j.job_id DESC LIMIT @limit`, args)
}
