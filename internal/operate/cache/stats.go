package cache

import "sync/atomic"

// Stats are the counts of a cache since it was made.
type Stats struct {
	Hits, Misses int64
	Bytes        int64 // of its entries; 0 for a cache that is limited by entries
}

// counts counts the look-ups of a cache.
type counts struct{ hits, misses atomic.Int64 }

func (c *counts) count(found bool) {
	if found {
		c.hits.Add(1)
	} else {
		c.misses.Add(1)
	}
}

// Stats returns the counts of the cache.
func (c *Cache[K, V]) Stats() Stats {
	return Stats{c.counts.hits.Load(), c.counts.misses.Load(), c.store.bytes()}
}

// Stats returns the counts of the cache.
func (c *Fair[O, K, V]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{c.counts.hits.Load(), c.counts.misses.Load(), c.used}
}
