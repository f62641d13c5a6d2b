package tenant

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/nearest"
)

// Keys of a tenant's settings under which the operator may set a quota for the tenant, in
// place of the service's standard one.
const (
	MaxIndexes         = "maxIndexes"         // indexes
	RequestsPerSecond  = "requestsPerSecond"  // requests a second on one instance
	ConcurrentRequests = "concurrentRequests" // requests at once on one instance
)

// Quotas are the limits on requests that a tenant's settings have, 0 for the standard ones.
type Quotas struct {
	RequestsPerSecond  int
	ConcurrentRequests int
}

// maxQuota is the largest number that settings may have as a quota.
const maxQuota = 1_000_000

// checkKnown validates the quotas in a tenant's settings. A key that is nearly one of theirs is
// taken for a mistake. Errors: Invalid.
func checkKnown(settings map[string]any) error {
	known := []string{MaxIndexes, RequestsPerSecond, ConcurrentRequests}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !slices.Contains(known, key) {
			if near := nearest.Name(key, known); near != "" {
				return fault.Field("settings."+key, "is not known; did you mean %s?", near)
			}
			continue
		}
		if value := settings[key]; quotaOf(value) == 0 {
			return fault.Field("settings."+key, "must be a whole number from 1 to %d, got %v", maxQuota, value)
		}
	}
	return nil
}

// quotasOf returns the quotas in the settings of a tenant.
func quotasOf(settings map[string]any) Quotas {
	return Quotas{
		RequestsPerSecond: quotaOf(settings[RequestsPerSecond]), ConcurrentRequests: quotaOf(settings[ConcurrentRequests]),
	}
}

// quotaOf returns a value of settings as a quota, 0 if it is none.
func quotaOf(value any) int {
	number, ok := value.(float64)
	if !ok || number != math.Trunc(number) || number < 1 || number > maxQuota {
		return 0
	}
	return int(number)
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
