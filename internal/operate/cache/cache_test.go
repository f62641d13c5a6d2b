package cache

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func ofBytes(bytes int64) *Cache[string, []byte] {
	return New(Config[string, []byte]{Bytes: bytes, Weigh: func(_ string, v []byte) int { return len(v) }})
}

func TestCacheReplacesAndCounts(t *testing.T) {
	t.Parallel()
	c := ofBytes(1000)
	c.Put("a", make([]byte, 300))
	c.Put("a", make([]byte, 100))
	if v, ok := c.Get("a"); !ok || len(v) != 100 || c.Bytes() != 100+overhead {
		t.Errorf("a is %d bytes, the cache %d", len(v), c.Bytes())
	}
	c.Put("huge", make([]byte, 5000))
	if _, ok := c.Get("huge"); ok {
		t.Error("a value bigger than the cache was kept")
	}
	if _, ok := c.Get("a"); !ok {
		t.Error("a value bigger than the cache pushed another out")
	}
	c.Put("a", make([]byte, 5000))
	if _, ok := c.Get("a"); ok || c.Bytes() != 0 {
		t.Error("a value that grew too big was kept")
	}
}

func TestCacheKeepsItsLimits(t *testing.T) {
	t.Parallel()
	bytes := ofBytes(20 * (overhead + 10))
	entries := New(Config[int, int]{Entries: 20})
	for i := range 1000 {
		bytes.Put(string(rune(i)), make([]byte, 10))
		if used := bytes.Bytes(); used > 20*(overhead+10) {
			t.Fatalf("%d bytes after %d writes", used, i)
		}
		entries.Put(i, i)
	}
	if n := entries.store.(*otterStore).entries.EstimatedSize(); n > 20 || n < 15 {
		t.Errorf("%d entries, want about 20", n)
	}
}

func TestCacheKeepsEntriesThatAreUsedOften(t *testing.T) {
	t.Parallel()
	c := New(Config[int, int]{Entries: 100})
	for i := range 10_000 {
		if _, ok := c.Get(-1); !ok {
			c.Put(-1, -1)
		}
		c.Put(i, i)
	}
	if _, ok := c.Get(-1); !ok {
		t.Error("an entry that is used all the time was evicted")
	}
}

func TestCacheWithoutCapacityStoresNothing(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int64{0, -1} {
		c := ofBytes(bytes)
		c.Put("", nil)
		if _, ok := c.Get(""); ok {
			t.Errorf("a cache of %d bytes kept something", bytes)
		}
	}
}

func TestCacheServesNothingOlderThanItsTTL(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := New(Config[string, int]{Entries: 10, TTL: 3 * time.Second, Now: func() time.Time { return now }})
	fresh := func(key string) bool { _, ok := c.Get(key); return ok }
	c.Put("a", 1)
	c.PutLoaded("loaded before", 1, now.Add(-2*time.Second))
	c.PutLoaded("slow to load", 1, now.Add(-time.Minute))
	now = now.Add(time.Second - 1)
	if !fresh("a") || !fresh("loaded before") {
		t.Error("fresh values are gone")
	}
	now = now.Add(1)
	if fresh("loaded before") || fresh("slow to load") {
		t.Error("the age of a value is not counted from its loading")
	}
	c.PutLoaded("a", 2, now.Add(-4*time.Second))
	now = now.Add(1)
	if fresh("a") {
		t.Error("a value that replaced another got its time")
	}
	c.Put("a", 3)
	now = now.Add(2 * time.Second)
	fresh("a") // reading does not extend the TTL
	now = now.Add(time.Second)
	if fresh("a") {
		t.Error("a value is served after its time")
	}
	c.Put("a", 4)
	if v, ok := c.Get("a"); !ok || v != 4 {
		t.Errorf("loaded again, a is %d, %v", v, ok)
	}
}

func TestCacheDropsRemovedEntries(t *testing.T) {
	t.Parallel()
	c := New(Config[int, int]{Entries: 10, TTL: time.Hour})
	for i := range 4 {
		c.Put(i, i)
	}
	c.Remove(1)
	if _, ok := c.Get(1); ok {
		t.Error("a removed value is there")
	}
	c.Clear()
	for i := range 4 {
		if _, ok := c.Get(i); ok {
			t.Errorf("%d is there after all were dropped", i)
		}
	}
}

func TestCacheDropsWhatMatches(t *testing.T) {
	t.Parallel()
	c := New(Config[int, int]{Entries: 100})
	for i := range 20 {
		c.Put(i, i)
	}
	c.RemoveWhere(func(key int) bool { return key%2 == 0 })
	for i := range 20 {
		if _, ok := c.Get(i); ok == (i%2 == 0) {
			t.Errorf("%d is there: %v", i, ok)
		}
	}
}

func TestPutIfAbsentReturnsWhatIsStored(t *testing.T) {
	t.Parallel()
	c := New(Config[int, string]{Entries: 10})
	if first, second := c.PutIfAbsent(1, "first"), c.PutIfAbsent(1, "second"); first != "first" || second != "first" {
		t.Errorf("stored %s, then %s", first, second)
	}
}

// The synctest bubble would not end if a goroutine were still running in it.
func TestCacheLeavesNoGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		c := New(Config[int, int]{Entries: 10, TTL: time.Second})
		for i := range 100 {
			c.Put(i, i)
			c.Get(i)
		}
	})
}

func TestCacheUnderContention(t *testing.T) {
	t.Parallel()
	c := New(Config[int, int]{Bytes: 20 * overhead, Weigh: func(int, int) int { return 0 }})
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 1000 {
				key := (i*7 + worker) % 50
				c.Put(key, key)
				if v, ok := c.Get(i % 50); ok && v != i%50 {
					t.Errorf("%d has the value %d", i%50, v)
				}
			}
		})
	}
	group.Wait()
	if used := c.Bytes(); used > 20*overhead || used != int64(c.store.(*otterStore).entries.EstimatedSize())*overhead {
		t.Errorf("%d bytes are counted for %d entries", used, c.store.(*otterStore).entries.EstimatedSize())
	}
}

// The limit in bytes must be close to the memory that the process really uses.
func TestOverheadIsMeasured(t *testing.T) {
	const n = 100_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := New(Config[[32]byte, []float32]{Bytes: 1 << 30, Weigh: func([32]byte, []float32) int { return 32 + 24 + 256 }})
	for i := range n {
		c.Put([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, make([]float32, 64))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	real, counted := int64(after.HeapAlloc-before.HeapAlloc), c.Bytes()
	t.Logf("%d bytes an entry counted, %d real", counted/n, real/n)
	if real > counted*5/4 {
		t.Errorf("the cache takes %d bytes and counts %d", real, counted)
	}
	runtime.KeepAlive(c)
}
