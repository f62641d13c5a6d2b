// Package cache remembers what was loaded or computed in the memory of this
// process, bounded by entries or bytes, and by age where values change elsewhere.
//
// It is github.com/maypok86/otter/v2, set up so that a bound holds when a write
// returns, no goroutine runs, and tests can bring their own clock. When a cache
// is full, otter evicts the entries that were used least often and least
// recently (W-TinyLFU), which may be the newest: a caller may not rely on an
// entry being there.
package cache

import (
	"math"
	"time"

	"github.com/maypok86/otter/v2"
)

// Cache maps keys to values. Safe for concurrent use. A value is shared by all who
// get it: read it, do not change it.
type Cache[K comparable, V any] struct {
	entries *otter.Cache[K, item[V]]
	clock   clock
	ttl     time.Duration
}

// item is a value with the time at which it is too old.
type item[V any] struct {
	value V
	until int64 // by the cache's clock; unused without a TTL
}

// Config bounds a Cache, either by Entries or by Bytes.
type Config[K comparable, V any] struct {
	// Entries is how many entries there may be.
	Entries int
	// Bytes is how many bytes the entries may take. A value that does not fit alone
	// is not kept; with a number below one nothing is.
	Bytes int64
	// Weigh returns how many bytes a key and its value take, besides what the cache
	// itself needs for an entry. Required with Bytes.
	Weigh func(K, V) int
	// TTL is how long after its loading a value is served. 0 means forever.
	TTL time.Duration
	// Now is the clock of TTL. Nil means time.Now.
	Now func() time.Time
}

// overhead is what an entry takes besides its key and value, in bytes: a node, its
// slot in the hash table and its part of the frequency sketch, as measured by
// TestOverheadIsHonest.
const overhead = 100

// New returns an empty Cache.
func New[K comparable, V any](config Config[K, V]) *Cache[K, V] {
	if config.Now == nil {
		config.Now = time.Now
	}
	c := &Cache[K, V]{clock: clock{config.Now, config.Now()}, ttl: config.TTL}
	// Maintenance runs on the goroutine of the caller: it takes microseconds, and the
	// bound holds when Put returns.
	options := otter.Options[K, item[V]]{Executor: func(maintain func()) { maintain() }}
	if config.Weigh == nil {
		options.MaximumSize = config.Entries
	} else {
		options.MaximumWeight = uint64(max(config.Bytes, 1))
		options.Weigher = func(key K, i item[V]) uint32 {
			return uint32(min(overhead+config.Weigh(key, i.value), math.MaxUint32))
		}
	}
	if config.TTL > 0 {
		options.Clock = c.clock
		options.ExpiryCalculator = otter.ExpiryWritingFunc(func(e otter.Entry[K, item[V]]) time.Duration {
			// To otter anything below a nanosecond means no expiry.
			return max(time.Duration(e.Value.until-e.SnapshotAtNano), 1)
		})
	}
	c.entries = otter.Must(&options)
	return c
}

// Get returns the value of the key, and whether there is one that is fresh.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	found, ok := c.entries.GetIfPresent(key)
	return found.value, ok
}

// Put stores a value that was loaded just now.
func (c *Cache[K, V]) Put(key K, value V) { c.put(key, value, c.clock.NowNano()) }

// PutLoaded stores a value that was loaded at the given time. Take the time
// before loading, so that no value is served for longer than TTL after it was true.
func (c *Cache[K, V]) PutLoaded(key K, value V, at time.Time) { c.put(key, value, c.clock.nano(at)) }

func (c *Cache[K, V]) put(key K, value V, loaded int64) {
	c.entries.Set(key, item[V]{value, loaded + int64(c.ttl)})
}

// PutIfAbsent stores a value unless there is one already, and returns the one that
// is now stored.
func (c *Cache[K, V]) PutIfAbsent(key K, value V) V {
	stored, _ := c.entries.SetIfAbsent(key, item[V]{value, c.clock.NowNano() + int64(c.ttl)})
	return stored.value
}

// Remove drops the value of a key.
func (c *Cache[K, V]) Remove(key K) { c.entries.Invalidate(key) }

// Clear drops all values.
func (c *Cache[K, V]) Clear() { c.entries.InvalidateAll() }

// Bytes returns how many bytes the entries of a cache bounded by Bytes take, with
// what the cache needs for each.
func (c *Cache[K, V]) Bytes() int64 {
	c.entries.CleanUp()
	return int64(c.entries.WeightedSize())
}

// clock is an otter.Clock without ticks, and so without a goroutine that waits for
// them. It counts from its start, so that setting the computer's clock makes no
// entry older or younger.
type clock struct {
	now   func() time.Time
	start time.Time
}

// NowNano implements otter.Clock.
func (c clock) NowNano() int64 { return c.nano(c.now()) }

func (c clock) nano(t time.Time) int64 { return c.start.UnixNano() + int64(t.Sub(c.start)) }

// Tick implements otter.Clock.
func (clock) Tick(time.Duration) <-chan time.Time { return nil }
