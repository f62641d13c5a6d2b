package provision

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Health says which tenants cannot be served.
type Health struct {
	Tenants  int             // all tenants
	Unserved []data.Unserved // ordered by id; Service.Repair repairs them
	Behind   int             // tenants that are not migrated to the newest version yet
}

const (
	// healthFor is how long the result of Service.Health is cached at least.
	healthFor = 15 * time.Second
	// healthPause is how many times as long as the check took its result is cached: the
	// check of 10,000 tenants must not keep a CPU busy.
	healthPause = 500
)

// Health returns the health of the tenants. It may be up to healthFor old, or healthPause
// times the duration of the check.
func (s *Service) Health(ctx context.Context) (Health, error) {
	s.health.Lock()
	defer s.health.Unlock()
	now := s.now()
	if !s.health.checked.IsZero() && now.Sub(s.health.checked) < s.health.valid {
		return s.health.last, nil
	}
	var h Health
	var err error
	start := time.Now()
	err = s.eachDatabase(ctx, func(d *Database) error {
		unserved, err := d.store.roles.unserved(ctx, d.store.pool, "")
		if err != nil {
			return err
		}
		h.Unserved = append(h.Unserved, unserved...)
		var behind int
		err = d.store.pool.QueryRow(ctx, `
			SELECT count(*) FROM ragd.tenants WHERE status = 'ready' AND database_name = '' AND schema_version < $1`, d.migrator.Newest()).Scan(&behind)
		h.Behind += behind
		return err
	})
	if err != nil {
		return Health{}, err
	}
	if err := s.store.pool.QueryRow(ctx, `SELECT count(*) FROM ragd.tenants WHERE status = 'ready'`).Scan(&h.Tenants); err != nil {
		return Health{}, postgres.Fault(err)
	}
	slices.SortFunc(h.Unserved, func(a, b data.Unserved) int { return strings.Compare(string(a.Tenant), string(b.Tenant)) })
	s.health.checked, s.health.last, s.health.valid = now, h, max(healthFor, healthPause*time.Since(start))
	return h, nil
}
