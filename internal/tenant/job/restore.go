package job

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

// interruptedByExport is the error of jobs that had not ended when their tenant was exported.
const interruptedByExport = "had not ended when the tenant was exported"

// Restored ends the jobs of a restored tenant that had not ended, except ingest jobs of documents that
// still wait: these are queued.
func Restored(ctx context.Context, tx *data.Tx) error {
	_, err := tx.Exec(ctx, `
		UPDATE tenant.jobs AS j SET status = 'queued', updated_at = now()
		FROM tenant.documents AS d WHERE d.job_id = j.job_id AND d.document_id = j.document_id AND d.status IN ('pending', 'processing')
			AND j.kind = $1 AND j.status = 'running'`, Ingest)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE tenant.jobs AS j SET status = 'cancelled', error = $2, updated_at = now()
		WHERE j.status IN ('queued', 'running') AND NOT (j.kind = $1 AND EXISTS (
			SELECT FROM tenant.documents AS d WHERE d.job_id = j.job_id AND d.document_id = j.document_id AND d.status IN ('pending', 'processing')))`, Ingest, interruptedByExport)
	return err
}
