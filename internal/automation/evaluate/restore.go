package evaluate

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant"
)

// Restored lets the evaluations of a restored tenant act for that tenant alone.
func Restored(ctx context.Context, tx *tenant.Tx) error {
	return tenant.MoveDelegations(ctx, tx, tenant.DelegationColumn{Table: "ragd_shared.evaluations", Key: "evaluation_id", KeyType: "uuid", Column: "delegation"})
}
