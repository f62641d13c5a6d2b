package toolset

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
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
	known *cache.Cache[tenant.ID, tenantValues[V]]

	mu      sync.Mutex // guards changes of known, and cleared
	cleared time.Time  // when the values of all tenants were dropped
}

// tenantValues are what is cached for a tenant. Values that were loaded before forgotten are not
// added: they may lack the change for which the earlier ones were dropped.
type tenantValues[V any] struct {
	forgotten time.Time
	byBounds  map[string]loaded[V] // is not changed
}

// loaded is a value and when it was loaded.
type loaded[V any] struct {
	value V
	at    time.Time
}

func newByCaller[V any]() *byCaller[V] {
	return &byCaller[V]{known: cache.New(cache.Config[tenant.ID, tenantValues[V]]{Entries: maxCachedTenants, TTL: cacheTTL})}
}

// callerOf returns the caller's tenant and bounds. They are "" on standard input, where there is one
// caller, who is not known.
func callerOf(ctx context.Context) (id tenant.ID, bounds string) {
	if r, ok := access.FromContext(ctx); ok {
		return r.Tenant, r.Bounds.String()
	}
	return "", ""
}

func (c *byCaller[V]) get(ctx context.Context) (value V, ok bool) {
	id, bounds := callerOf(ctx)
	known, _ := c.known.Get(id)
	found, ok := known.byBounds[bounds]
	return found.value, ok && time.Since(found.at) < cacheTTL
}

// put stores a value whose loading began at the given time, unless the values of the tenant were
// dropped since.
func (c *byCaller[V]) put(ctx context.Context, value V, at time.Time) {
	id, bounds := callerOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	known, _ := c.known.Get(id)
	if !at.After(known.forgotten) || !at.After(c.cleared) {
		return
	}
	if known.byBounds = maps.Clone(known.byBounds); known.byBounds == nil || len(known.byBounds) >= maxCachedBounds {
		known.byBounds = map[string]loaded[V]{}
	}
	known.byBounds[bounds] = loaded[V]{value, at}
	c.known.Put(id, known)
}

// forget drops what callers of a tenant see, or of all tenants if id is "".
func (c *byCaller[V]) forget(id tenant.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id == "" {
		c.cleared = time.Now()
		c.known.Clear()
		return
	}
	c.known.Put(id, tenantValues[V]{forgotten: time.Now()})
}
