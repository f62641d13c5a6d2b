package alert

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Restored lets the alerts of a restored tenant act for that tenant alone.
func Restored(ctx context.Context, tx *data.Tx) error {
	return credential.MoveDelegations(ctx, tx, credential.DelegationColumn{Table: "ragd_shared.alerts", Key: "alert_id", KeyType: "uuid", Column: "access"})
}
