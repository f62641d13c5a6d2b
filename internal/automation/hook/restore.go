package hook

import (
	"context"

	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// disabledAsCopy is why a hook is disabled that was restored as one of another tenant.
const disabledAsCopy = "it was imported with a tenant of another name: enable it if its address is to get events of this tenant too"

// Restored begins the deliveries of the hooks of a restored tenant. They are disabled if the tenant had
// another name. Events that the import itself made are deleted.
func Restored(ctx context.Context, tx *data.Tx, from tenant.ID) error {
	if tx.Tenant() != from {
		_, err := tx.Exec(ctx, `UPDATE ragd_shared.hooks SET enabled = false, disabled_reason = $1 WHERE enabled`, disabledAsCopy)
		if err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `DELETE FROM ragd_shared.events`); err != nil {
		return err
	}
	enabled, err := data.Value[bool](ctx, tx, `SELECT EXISTS (SELECT FROM ragd_shared.hooks AS h WHERE h.enabled)`)
	if err != nil || !enabled {
		return err
	}
	return journal.Enlist(ctx, tx)
}
