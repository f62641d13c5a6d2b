package tenant

import (
	"context"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
)

// MaxIndexes is the key of a tenant's settings under which the operator may set how many
// indexes the tenant may have.
const MaxIndexes = "maxIndexes"

// maxQuota is the largest number that settings may have as a quota.
const maxQuota = 1_000_000

// checkQuotas validates the quotas in a tenant's settings. Errors: Invalid.
func checkQuotas(settings map[string]any) error {
	value, given := settings[MaxIndexes]
	if !given {
		return nil
	}
	number, ok := value.(float64)
	if !ok || number != math.Trunc(number) || number < 1 || number > maxQuota {
		return fault.Field("settings."+MaxIndexes, "must be a whole number from 1 to %d, got %v", maxQuota, value)
	}
	return nil
}

// Quota returns the quota that the settings of the transaction's tenant have under a key,
// or else the standard one.
func (t *Tx) Quota(ctx context.Context, key string, standard int) (quota int, err error) {
	err = t.AsService(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			SELECT CASE jsonb_typeof(settings->$2) WHEN 'number' THEN (settings->>$2)::float8::int ELSE $3::int END
			FROM ragd.tenants WHERE tenant_id = $1`, t.handle.id, key, standard).Scan(&quota)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.NotFound, "tenant %q not found", t.handle.id)
		}
		return err
	})
	return quota, err
}
