package reseal

import (
	"context"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Restored seals the secrets of a restored tenant, which were sealed for the tenant of another
// name or with another key, for this tenant and with the first master key. It returns the names of those that
// no key opens, such as secrets/crm: they stay as they are, and must be given again.
func (s *Service) Restored(ctx context.Context, tx *data.Tx, from tenant.ID) (lost []string, err error) {
	for _, c := range OfTenants {
		rows, err := data.Select[row](ctx, tx, selectRows(c))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			// What a secret belongs to begins with its kind and the tenant.
			if len(r.BelongsTo) < 2 || r.BelongsTo[1] != string(tx.Tenant()) {
				return nil, fault.New(fault.Internal, "the column %s.%s does not say of which tenant its secrets are", c.Table, c.Name)
			}
			before := append([]string{}, r.BelongsTo...)
			before[1] = string(from)
			plain, err := s.config.Keys.Open(r.Sealed, before...)
			if err != nil {
				if r.Needed {
					lost = append(lost, r.Name)
				}
				continue
			}
			if from == tx.Tenant() && s.config.Keys.Current(r.Sealed) {
				continue
			}
			if _, err := tx.Exec(ctx, replace(c), r.Sealed, s.config.Keys.Seal(plain, r.BelongsTo...)); err != nil {
				return nil, err
			}
		}
	}
	return lost, nil
}
