package lru

import (
	"runtime"
	"sync"
	"testing"
)

func TestCacheForgetsWhatWasNotUsedForLongest(t *testing.T) {
	t.Parallel()
	c := New[string, int](3 * (overhead + 1))
	for i, key := range []string{"a", "b", "c"} {
		c.Put(key, i, 1)
	}
	c.Get("a")
	c.Put("d", 3, 1)
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("%s cached: %v, want %v", key, ok, want)
		}
	}
}

func TestCacheReplacesAndCounts(t *testing.T) {
	t.Parallel()
	c := New[string, int](1000)
	c.Put("a", 1, 300)
	c.Put("a", 2, 100)
	if v, _ := c.Get("a"); v != 2 || c.Bytes() != 100+overhead {
		t.Errorf("a = %d in %d bytes", v, c.Bytes())
	}
	c.Put("huge", 3, 5000)
	if _, ok := c.Get("huge"); ok {
		t.Error("a value bigger than the cache was stored")
	}
	c.Put("a", 4, 5000)
	if _, ok := c.Get("a"); ok || c.Bytes() != 0 {
		t.Error("a value that grew too big left its old self behind")
	}
}

func TestCacheOfNothing(t *testing.T) {
	t.Parallel()
	c := New[int, int](0)
	c.Put(1, 1, 0)
	if _, ok := c.Get(1); ok {
		t.Error("a cache of no bytes stored something")
	}
}

func TestCacheUnderContention(t *testing.T) {
	t.Parallel()
	c := New[int, int](20 * overhead)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 1000 {
				c.Put((i*7+worker)%50, i, 0)
				c.Get(i % 50)
			}
		})
	}
	group.Wait()
	if c.Bytes() > 20*overhead || c.Bytes() != int64(len(c.items))*overhead {
		t.Errorf("%d bytes counted, %d entries held", c.Bytes(), len(c.items))
	}
}

// The bound must be near what the process really spends.
func TestOverheadIsHonest(t *testing.T) {
	const n = 100_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := New[[32]byte, []float32](1 << 30)
	for i := range n {
		c.Put([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, make([]float32, 64), 32+24+256)
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
