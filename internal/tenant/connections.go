package tenant

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/limit"
)

// connectionWait is how long a statement waits while its tenant uses as many connections
// as one tenant may use.
const connectionWait = 15 * time.Second

// connections bounds how many connections each tenant uses at a time, so that slow
// statements of one tenant cannot occupy the whole pool.
type connections struct {
	each    int
	limiter *limit.Limiter[ID]
}

func newConnections(each int) *connections {
	return &connections{each, limit.New[ID](0, int64(each))}
}

// acquire waits until the tenant may use another connection. The caller must call release
// when it has returned the connection. Errors: Exhausted after connectionWait, the
// context's error.
func (c *connections) acquire(ctx context.Context, id ID) (release func(), err error) {
	release = func() { c.limiter.Release(id, 1) }
	if c.limiter.TryAcquire(id, 1) {
		return release, nil
	}
	waiting, cancel := context.WithTimeout(ctx, connectionWait)
	defer cancel()
	if err := c.limiter.Acquire(waiting, id); err == nil {
		return release, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, fault.Retry(time.Second, "this tenant has %d statements running, as many as it may have at once: send fewer requests at a time, or the operator raises the setting statements-per-tenant", c.each)
}
