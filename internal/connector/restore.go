package connector

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant"
)

// pausedAsCopy is why a connector is paused that was restored as one of another tenant.
const pausedAsCopy = "it was imported with a tenant of another name: resume it if it is to run beside the first one"

// Restored lets the connectors of a restored tenant run again. They are paused if the tenant had
// another name, and run for the restored tenant alone.
func (s *Service) Restored(ctx context.Context, tx *tenant.Tx, from tenant.ID) error {
	if err := tenant.MoveDelegations(ctx, tx, "ragd_shared.connectors", "access"); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		UPDATE ragd_shared.connectors SET status = 'failed', error = 'the run had not ended when the tenant was exported', ended_at = now(), next_run_at = now()
		WHERE status = 'running'`)
	if err != nil {
		return err
	}
	if tx.Tenant() != from {
		_, err := tx.Exec(ctx, `UPDATE ragd_shared.connectors SET paused = true, paused_reason = $1 WHERE NOT paused`, pausedAsCopy)
		return err
	}
	found, err := tenant.Select[row](ctx, tx, `SELECT `+columns+` FROM ragd_shared.connectors ORDER BY connector_name`)
	if err != nil {
		return err
	}
	for _, r := range found {
		if err := s.wake(ctx, tx, r); err != nil {
			return err
		}
	}
	return nil
}
