package workflow

import (
	"context"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// interruptedByExport is the error of runs that had not ended when their tenant was exported.
const interruptedByExport = "the run had not ended when the tenant was exported"

// Restored cancels the runs of a restored tenant that had not ended: what their steps did since the
// export is not known, and another tenant may go on with them. Runs act for the restored tenant alone.
func Restored(ctx context.Context, tx *data.Tx) error {
	_, err := tx.Exec(ctx, `
		WITH ended AS (
			UPDATE ragd_shared.workflow_runs SET status = 'cancelled', error_kind = $1, error = $2, changes = changes + 1, ended_at = now(), updated_at = now()
			WHERE status IN ('queued', 'running', 'waiting') RETURNING run_id, changes
		)`+endSteps, fault.Canceled.String(), interruptedByExport)
	if err != nil {
		return err
	}
	return credential.MoveDelegations(ctx, tx, credential.DelegationColumn{Table: "ragd_shared.workflow_runs", Key: "run_id", KeyType: "uuid", Column: "access"})
}
