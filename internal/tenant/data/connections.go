package data

import (
	"context"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
)

// connectionWait is how long a statement waits while its tenant uses as many connections
// as one tenant may use.
const connectionWait = 15 * time.Second

// connections bounds how many connections each tenant uses at a time, so that slow
// statements of one tenant cannot occupy the whole pool: alone of them while no other tenant
// runs statements, else beside.
type connections struct {
	alone, beside int64
	limiter       *limit.Limiter[tenant.ID]
	recent        *recent
}

// newConnections returns connections of which a tenant uses at most alone, and while other
// tenants are active a quarter less than processors, at least one less of several, so that
// their statements find a processor.
func newConnections(alone, processors int) *connections {
	beside := max(1, processors-max(1, processors/4))
	return &connections{int64(alone), int64(min(alone, beside)), limit.New[tenant.ID](0, 0), &recent{}}
}

// acquire waits until the tenant may use another connection. The caller must call release
// when it has returned the connection. Errors: Exhausted after connectionWait, the
// context's error.
func (c *connections) acquire(ctx context.Context, id tenant.ID) (release func(), err error) {
	release = func() { c.limiter.Release(id, 1) }
	each := c.alone
	if c.recent.others(id, time.Now()) {
		each = c.beside
	}
	if err := c.limiter.AcquireWithin(ctx, id, each, connectionWait); err == nil {
		return release, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, fault.Retry(time.Second, "this tenant has %d statements running, as many as it may have at once: send fewer requests at a time, or the operator raises the setting statements-per-tenant", each).Of("statements-per-tenant")
}

// recentFor is how long a tenant counts as active after a statement.
const recentFor = time.Second

// recent knows the last two tenants that ran statements. Safe for concurrent use.
type recent struct {
	mu           sync.Mutex
	last, before activity // of two tenants
}

// activity is the last statement of a tenant.
type activity struct {
	id tenant.ID
	at time.Time
}

// others records a statement of a tenant, and reports whether another tenant is active.
func (r *recent) others(id tenant.ID, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.id != id {
		r.before = r.last
	}
	r.last = activity{id, now}
	return now.Sub(r.before.at) < recentFor
}
