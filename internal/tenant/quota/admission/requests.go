package admission

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/ragdhq/ragd/internal/operate/cache"
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
	wait := charge(g.rates, of, perSecond, n)
	if wait == 0 {
		return nil
	}
	return fault.Retry(wait, "this tenant made more than %d requests a second: make fewer, or %s, or the setting tenant-request-rate", perSecond, quotas.More(quota.RequestsPerSecond)).Of(quota.RequestsPerSecond)
}

// charge counts n requests against a rate, 0 for none. If they are over it, they do not count, and charge returns how long it
// is until they would not be.
func charge[K comparable](rates *cache.Cache[K, *rate.Limiter], of K, perSecond, n int) time.Duration {
	if perSecond == 0 {
		return 0
	}
	bucket, ok := rates.Get(of)
	if !ok {
		bucket = rates.PutIfAbsent(of, rate.NewLimiter(rate.Limit(perSecond), 2*perSecond))
	}
	if bucket.Burst() != 2*perSecond { // the quota has changed
		bucket = rate.NewLimiter(rate.Limit(perSecond), 2*perSecond)
		rates.Put(of, bucket)
	}
	n = min(n, bucket.Burst()) // more would never be allowed
	if bucket.AllowN(time.Now(), n) {
		return 0
	}
	missing := float64(n) - bucket.Tokens()
	return max(time.Duration(missing/float64(perSecond)*float64(time.Second)), time.Millisecond)
}

// pageKey is an API key that web pages use, by what the log calls it.
type pageKey struct {
	of  tenant.ID
	key string
}

// OfPage returns Begin for the requests that web pages make with an API key, which anybody can read there. Besides the
// quotas of the tenant they keep to a rate of the key, and pages have at most half of the requests that the tenant may
// have running: they leave the rest to the tenant's programs.
func (g *Gate) OfPage(key string) func(context.Context, tenant.ID, quota.Limits) (end func(), err error) {
	return func(ctx context.Context, of tenant.ID, quotas quota.Limits) (end func(), err error) {
		if wait := charge(g.pageRates, pageKey{of, key}, g.config.PageRequestsPerSecond, 1); wait > 0 {
			return nil, fault.Retry(wait, "web pages made more than %d requests a second with this API key: make fewer, or ask the operator for more, with the setting page-request-rate", g.config.PageRequestsPerSecond)
		}
		most := (cmp.Or(quotas.ConcurrentRequests, g.config.ConcurrentRequests) + 1) / 2
		if err := g.pages.AcquireWithin(ctx, of, int64(most), maxWait); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return nil, fault.Retry(retryAfter, "web pages have %d requests of this tenant running, half of what it may have at once: send fewer at a time, or %s", most, quotas.More(quota.ConcurrentRequests)).Of(quota.ConcurrentRequests)
		}
		leave := func() { g.pages.Release(of, 1) }
		counted, err := g.Begin(ctx, of, quotas)
		if err != nil {
			leave()
			return nil, err
		}
		return func() { counted(); leave() }, nil
	}
}
