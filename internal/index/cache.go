package index

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	cacheSize = 10_000
	// cacheTTL bounds how long a changed setting goes unnoticed by other
	// instances.
	cacheTTL = 5 * time.Second
)

// cache remembers indexes by name, so that a query need not look its index up.
type cache struct {
	entries *lru.Cache[cacheKey, cacheEntry]
}

type cacheKey struct {
	tenant tenant.ID
	name   string
}

type cacheEntry struct {
	index      Index
	freshUntil time.Time
}

func newCache() *cache {
	entries, err := lru.New[cacheKey, cacheEntry](cacheSize)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return &cache{entries}
}

func (c *cache) get(id tenant.ID, name string) (Index, bool) {
	entry, ok := c.entries.Get(cacheKey{id, name})
	if !ok || time.Now().After(entry.freshUntil) {
		return Index{}, false
	}
	return entry.index, true
}

func (c *cache) put(id tenant.ID, i Index) {
	c.entries.Add(cacheKey{id, i.Name}, cacheEntry{i, time.Now().Add(cacheTTL)})
}

func (c *cache) forget(id tenant.ID, name string) { c.entries.Remove(cacheKey{id, name}) }
