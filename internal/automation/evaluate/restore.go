package evaluate

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Restored lets the evaluations of a restored tenant act for that tenant alone.
func Restored(ctx context.Context, tx *data.Tx) error {
	return credential.MoveDelegations(ctx, tx, credential.DelegationColumn{Table: "ragd_shared.evaluations", Key: "evaluation_id", KeyType: "uuid", Column: "delegation"})
}
