// Package cache keeps loaded or computed values in memory, limited by entries or bytes,
// and optionally by age.
//
// It wraps github.com/maypok86/otter/v2: a limit holds when a write returns, no goroutine
// runs, and tests can set the clock. When a cache is full, otter evicts the entries that
// were used least often and least recently (W-TinyLFU). These may be the newest, so a
// caller must not rely on an entry being present.
//
// A Fair is a cache of our own, which divides its bytes between owners.
//
// Keys and values are boxed behind an interface, so that otter is instantiated here
// only: its generic code takes megabytes and seconds of every package that compiles it.
package cache

import (
	"math"
	"time"

	"github.com/maypok86/otter/v2"
)

// Cache maps keys to values. Safe for concurrent use. All callers share
// the values and must not change them.
type Cache[K comparable, V any] struct {
	store  store
	counts *counts
}

// store is a Cache whose types are erased. It is an interface because the compiler
// instantiates the generic types that it finds in structs and inlined functions.
type store interface {
	get(key any) (any, bool)
	put(key, value any)
	putLoaded(key, value any, at time.Time)
	putIfAbsent(key, value any) any
	remove(key any)
	removeWhere(matches func(key any) bool)
	clear()
	bytes() int64
}

// otterStore implements store.
type otterStore struct {
	entries *otter.Cache[any, item]
	clock   clock
	ttl     time.Duration
}

// item is a value with the time at which it expires.
type item struct {
	value any
	until int64 // by the cache's clock; unused without a TTL
}

// Config configures a Cache. It is limited either by Entries or by Bytes.
type Config[K comparable, V any] struct {
	// Entries is the maximum number of entries.
	Entries int
	// Bytes is the maximum size of all entries. A larger value is not stored; with less
	// than one byte, no value is.
	Bytes int64
	// Weigh returns how many bytes a key and its value take, besides what the cache
	// itself needs for an entry. Required with Bytes.
	Weigh func(K, V) int
	// TTL is how long a value is returned after it was loaded. 0 means forever.
	TTL time.Duration
	// Now is the clock of TTL. Nil means time.Now.
	Now func() time.Time
}

// overhead is the size of an entry without its key and value, in bytes: a node, its slot
// in the hash table and its fraction of the frequency sketch, as measured by
// TestOverheadIsMeasured.
const overhead = 100

// New returns an empty Cache.
func New[K comparable, V any](config Config[K, V]) *Cache[K, V] {
	if config.Now == nil {
		config.Now = time.Now
	}
	var weigh func(key, value any) int
	if config.Weigh != nil {
		weigh = func(key, value any) int { return config.Weigh(key.(K), value.(V)) }
	}
	return &Cache[K, V]{newStore(Config[any, any]{config.Entries, config.Bytes, weigh, config.TTL, config.Now}), new(counts)}
}

func newStore(config Config[any, any]) store {
	s := &otterStore{clock: clock{config.Now, config.Now()}, ttl: config.TTL}
	// Maintenance runs on the goroutine of the caller: it takes microseconds, and the
	// limit holds when Put returns.
	options := otter.Options[any, item]{Executor: func(maintain func()) { maintain() }}
	if config.Weigh == nil {
		options.MaximumSize = config.Entries
	} else {
		options.MaximumWeight = uint64(max(config.Bytes, 1))
		options.Weigher = func(key any, i item) uint32 {
			return uint32(min(overhead+config.Weigh(key, i.value), math.MaxUint32))
		}
	}
	if config.TTL > 0 {
		options.Clock = s.clock
		options.ExpiryCalculator = otter.ExpiryWritingFunc(func(e otter.Entry[any, item]) time.Duration {
			// Less than a nanosecond would mean no expiry to otter.
			return max(time.Duration(e.Value.until-e.SnapshotAtNano), 1)
		})
	}
	s.entries = otter.Must(&options)
	return s
}

func (s *otterStore) get(key any) (any, bool) {
	found, ok := s.entries.GetIfPresent(key)
	return found.value, ok
}

func (s *otterStore) put(key, value any) { s.set(key, value, s.clock.NowNano()) }

func (s *otterStore) putLoaded(key, value any, at time.Time) { s.set(key, value, s.clock.nano(at)) }

func (s *otterStore) set(key, value any, loaded int64) {
	s.entries.Set(key, item{value, loaded + int64(s.ttl)})
}

func (s *otterStore) putIfAbsent(key, value any) any {
	stored, _ := s.entries.SetIfAbsent(key, item{value, s.clock.NowNano() + int64(s.ttl)})
	return stored.value
}

func (s *otterStore) remove(key any) { s.entries.Invalidate(key) }

func (s *otterStore) removeWhere(matches func(key any) bool) {
	for key := range s.entries.Keys() {
		if matches(key) {
			s.entries.Invalidate(key)
		}
	}
}

func (s *otterStore) clear() { s.entries.InvalidateAll() }

func (s *otterStore) bytes() int64 {
	s.entries.CleanUp()
	return int64(s.entries.WeightedSize())
}

// Get returns the value of the key, and whether there is one that has not expired.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	found, ok := c.store.get(key)
	c.counts.count(ok)
	value, _ := found.(V)
	return value, ok
}

// Put stores a value that was loaded just now.
func (c *Cache[K, V]) Put(key K, value V) { c.store.put(key, value) }

// PutLoaded stores a value that was loaded at the given time. Pass the time at which
// loading started, so that no value is returned later than TTL after it was current.
func (c *Cache[K, V]) PutLoaded(key K, value V, at time.Time) { c.store.putLoaded(key, value, at) }

// PutIfAbsent stores a value unless there is one already, and returns the one that
// is now stored.
func (c *Cache[K, V]) PutIfAbsent(key K, value V) V {
	stored, _ := c.store.putIfAbsent(key, value).(V)
	return stored
}

// Remove drops the value of a key.
func (c *Cache[K, V]) Remove(key K) { c.store.remove(key) }

// RemoveWhere drops the values of all keys that match. It looks at every key.
func (c *Cache[K, V]) RemoveWhere(matches func(key K) bool) {
	c.store.removeWhere(func(key any) bool { return matches(key.(K)) })
}

// Clear drops all values.
func (c *Cache[K, V]) Clear() { c.store.clear() }

// Bytes returns the size of all entries, with the overhead of each, of a cache that is
// limited by Bytes.
func (c *Cache[K, V]) Bytes() int64 { return c.store.bytes() }

// clock is an otter.Clock without ticks, so that otter starts no goroutine to wait for
// them. It counts from its start, so that changes of the system clock do not change the
// age of entries.
type clock struct {
	now   func() time.Time
	start time.Time
}

// NowNano implements otter.Clock.
func (c clock) NowNano() int64 { return c.nano(c.now()) }

func (c clock) nano(t time.Time) int64 { return c.start.UnixNano() + int64(t.Sub(c.start)) }

// Tick implements otter.Clock.
func (clock) Tick(time.Duration) <-chan time.Time { return nil }
