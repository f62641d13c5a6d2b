// Package lru is a cache of the values used last, bounded by the bytes they
// take.
package lru

import (
	"container/list"
	"sync"
)

// Cache maps keys to values and forgets the ones not used for longest when the
// bytes are used up. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit int64

	mu    sync.Mutex
	used  int64
	items map[K]*list.Element
	order list.List // of entry[K, V], last used in front
}

type entry[K comparable, V any] struct {
	key   K
	value V
	bytes int64
}

// overhead is what an entry costs besides its key and value: a list element,
// the entry's header and its place in the map, measured at some 200 bytes.
const overhead = 200

// New returns a cache of at most limit bytes.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, items: map[K]*list.Element{}}
}

// Get returns the value of the key and whether there is one.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

// Put stores the value, which with its key takes this many bytes besides the
// cache's own. A value too big for the whole cache is not stored.
func (c *Cache[K, V]) Put(key K, value V, bytes int64) {
	bytes += overhead
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.items[key]; e != nil {
		c.remove(e)
	}
	if bytes > c.limit {
		return
	}
	for c.used+bytes > c.limit {
		c.remove(c.order.Back())
	}
	c.used += bytes
	c.items[key] = c.order.PushFront(entry[K, V]{key, value, bytes})
}

// Bytes returns what the entries take.
func (c *Cache[K, V]) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

func (c *Cache[K, V]) remove(e *list.Element) {
	old := c.order.Remove(e).(entry[K, V])
	delete(c.items, old.key)
	c.used -= old.bytes
}
