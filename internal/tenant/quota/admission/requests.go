package admission

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// maxRates limits the tenants whose rate is tracked. One that was evicted starts anew, with
// a full burst.
const maxRates = 10_000

// Begin admits a request of a tenant, and waits for a short time while the tenant has as many
// requests running as it may have. The quotas are those of the tenant's settings, which take
// the place of the Config's. The caller must call end once, when the request is answered.
// Errors: Exhausted with a delay; that of ctx.
func (g *Gate) Begin(ctx context.Context, of tenant.ID, quotas quota.Limits) (end func(), err error) {
	if err := g.Count(of, quotas, 1); err != nil {
		return nil, err
	}
	most := cmp.Or(quotas.ConcurrentRequests, g.config.ConcurrentRequests)
	if err := g.running.AcquireWithin(ctx, of, int64(most), maxWait); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fault.Retry(retryAfter, "this tenant has %d requests running, as many as it may have at once: send fewer at a time, or %s, or the setting tenant-concurrent-requests", most, quotas.More(quota.ConcurrentRequests)).Of(quota.ConcurrentRequests)
	}
	return func() { g.running.Release(of, 1) }, nil
}

// Running returns the number of requests of all tenants that are running, without streams.
func (g *Gate) Running() int { return int(g.running.Taken()) }

// BeginStream is Begin for a request that may last, such as a stream: it does not count as
// running, and does not wait.
func (g *Gate) BeginStream(ctx context.Context, of tenant.ID, quotas quota.Limits) (end func(), err error) {
	if err := g.Count(of, quotas, 1); err != nil {
		return nil, err
	}
	return func() {}, ctx.Err()
}

// Count counts n requests, such as those that one request stands for beside itself. Errors: Exhausted over the rate of the tenant, with the time until
// so many requests are allowed.
func (g *Gate) Count(of tenant.ID, quotas quota.Limits, n int) error {
	perSecond := cmp.Or(quotas.RequestsPerSecond, g.config.RequestsPerSecond)
	if perSecond == 0 {
		return nil
	}
	bucket, ok := g.rates.Get(of)
	if !ok {
		bucket = g.rates.PutIfAbsent(of, rate.NewLimiter(rate.Limit(perSecond), 2*perSecond))
	}
	if bucket.Burst() != 2*perSecond { // the quota has changed
		bucket = rate.NewLimiter(rate.Limit(perSecond), 2*perSecond)
		g.rates.Put(of, bucket)
	}
	n = min(n, bucket.Burst()) // more would never be allowed
	if bucket.AllowN(time.Now(), n) {
		return nil
	}
	missing := float64(n) - bucket.Tokens()
	wait := time.Duration(missing / float64(perSecond) * float64(time.Second))
	return fault.Retry(max(wait, time.Millisecond), "this tenant made more than %d requests a second: make fewer, or %s, or the setting tenant-request-rate", perSecond, quotas.More(quota.RequestsPerSecond)).Of(quota.RequestsPerSecond)
}
