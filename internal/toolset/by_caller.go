package toolset

import (
	"context"
	"maps"
	"time"

	"github.com/ragdhq/ragd/internal/cache"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// cacheTTL is how long names of indexes and tools of tenants are cached.
	cacheTTL = 5 * time.Second
	// maxCachedTenants limits the tenants in each cache, and maxCachedBounds the different
	// bounds of callers of one tenant.
	maxCachedTenants = 1000
	maxCachedBounds  = 100
)

// byCaller caches what callers of a tenant with the same bounds see alike. Safe for concurrent
// use.
type byCaller[V any] struct {
	known *cache.Cache[tenant.ID, map[string]loaded[V]] // by bounds; the maps are not changed
}

// loaded is a value and when it was loaded.
type loaded[V any] struct {
	value V
	at    time.Time
}

func newByCaller[V any]() byCaller[V] {
	return byCaller[V]{cache.New(cache.Config[tenant.ID, map[string]loaded[V]]{Entries: maxCachedTenants, TTL: cacheTTL})}
}

// callerOf returns the caller's tenant and bounds. They are "" on standard input, where there is one
// caller, who is not known.
func callerOf(ctx context.Context) (id tenant.ID, bounds string) {
	if r, ok := tenant.FromContext(ctx); ok {
		return r.Tenant, r.Bounds.String()
	}
	return "", ""
}

func (c byCaller[V]) get(ctx context.Context) (value V, ok bool) {
	id, bounds := callerOf(ctx)
	known, _ := c.known.Get(id)
	found, ok := known[bounds]
	return found.value, ok && time.Since(found.at) < cacheTTL
}

// put stores a value that was loaded at the given time.
func (c byCaller[V]) put(ctx context.Context, value V, at time.Time) {
	id, bounds := callerOf(ctx)
	known, _ := c.known.Get(id)
	if known = maps.Clone(known); known == nil || len(known) >= maxCachedBounds {
		known = map[string]loaded[V]{}
	}
	known[bounds] = loaded[V]{value, at}
	c.known.PutLoaded(id, known, at)
}

// forget drops what callers of a tenant see, or of all tenants if id is "".
func (c byCaller[V]) forget(id tenant.ID) {
	if id == "" {
		c.known.Clear()
		return
	}
	c.known.Remove(id)
}
