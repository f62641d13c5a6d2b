package index

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant"
)

// EndJob ends a running job with all done that there was to do.
func EndJob(ctx context.Context, tx *tenant.Tx, jobID string) error {
	_, err := tx.Exec(ctx, `
		UPDATE tenant.jobs SET status = 'succeeded', error = '', done = total, updated_at = now()
		WHERE job_id = $1 AND status = 'running'`, jobID)
	return err
}

// FailAttempt records a failed attempt at a job, and ends it if that was the last.
func FailAttempt(ctx context.Context, tx *tenant.Tx, jobID, reason string, last bool) error {
	_, err := tx.Exec(ctx, `
		UPDATE tenant.jobs SET status = CASE WHEN $3 THEN 'failed' ELSE 'queued' END, error = $2, updated_at = now()
		WHERE job_id = $1 AND status IN ('queued', 'running')`, jobID, reason, last)
	return err
}
