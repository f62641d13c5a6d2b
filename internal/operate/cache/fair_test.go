package cache

import (
	"runtime"
	"sync"
	"testing"
)

// newTexts returns a Fair for n texts of 100 bytes, of one owner.
func newTexts(n int) *Fair[string, string, string] {
	const size = fairOverhead + 100
	return NewFair[string](int64(n*size+ownerOverhead), func(_, value string) int { return len(value) })
}

// put stores n texts of 100 bytes of an owner, whose keys begin with the prefix.
func put(c *Fair[string, string, string], owner, prefix string, n int) {
	for i := range n {
		c.Put(owner, prefix+string(rune('A'+i)), string(make([]byte, 100)))
	}
}

// count returns how many of the first n texts of an owner are stored.
func count(c *Fair[string, string, string], owner, prefix string, n int) (found int) {
	for i := range n {
		if _, ok := c.Get(owner, prefix+string(rune('A'+i))); ok {
			found++
		}
	}
	return found
}

func TestAFloodOfOneOwnerEvictsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	c := newTexts(100)
	put(c, "small", "a", 40)
	put(c, "flood", "b", 5000)
	if n := count(c, "small", "a", 40); n != 40 {
		t.Errorf("%d of 40 values of the other owner are left", n)
	}
	if used := c.Bytes(); used > c.limit || used < c.limit*9/10 {
		t.Errorf("%d bytes of %d are used", used, c.limit)
	}
}

// Owners that want more than there is get equal parts, whoever came first.
func TestOwnersGetEqualParts(t *testing.T) {
	t.Parallel()
	c := newTexts(100)
	put(c, "first", "a", 1000)
	put(c, "second", "b", 1000)
	first, second := count(c, "first", "a", 1000), count(c, "second", "b", 1000)
	if first < 45 || second < 45 {
		t.Errorf("%d and %d of 100 values", first, second)
	}
}

func TestOwnersDoNotSeeEachOthersValues(t *testing.T) {
	t.Parallel()
	c := newTexts(10)
	c.Put("a", "key", "of a")
	if value, ok := c.Get("b", "key"); ok {
		t.Errorf("b got %q", value)
	}
	c.Put("b", "key", "of b")
	if value, _ := c.Get("a", "key"); value != "of a" {
		t.Errorf("a got %q", value)
	}
}

func TestTheLeastRecentlyUsedIsEvicted(t *testing.T) {
	t.Parallel()
	c := newTexts(3)
	put(c, "a", "k", 3)
	c.Get("a", "kA")
	put(c, "a", "new", 1)
	if _, ok := c.Get("a", "kB"); ok {
		t.Error("the value that was not used is still there")
	}
	if n := count(c, "a", "k", 1) + count(c, "a", "new", 1); n != 2 {
		t.Errorf("%d of 2 values are there", n)
	}
}

func TestAReplacedValueIsCountedOnce(t *testing.T) {
	t.Parallel()
	c := newTexts(10)
	c.Put("a", "key", string(make([]byte, 50)))
	before := c.Bytes()
	c.Put("a", "key", string(make([]byte, 50)))
	if c.Bytes() != before {
		t.Errorf("%d bytes, before %d", c.Bytes(), before)
	}
	c.Put("a", "key", string(make([]byte, 1<<20))) // too large
	if _, ok := c.Get("a", "key"); ok || c.Bytes() != 0 || len(c.owners) != 0 {
		t.Errorf("the old value is left: %t, %d bytes, %d owners", ok, c.Bytes(), len(c.owners))
	}
}

func TestNothingIsStoredWithoutALimit(t *testing.T) {
	t.Parallel()
	c := NewFair[string](-1, func(_, value string) int { return len(value) })
	c.Put("a", "key", "value")
	if _, ok := c.Get("a", "key"); ok {
		t.Error("a value is stored")
	}
}

func TestFairIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	c := newTexts(20)
	var group sync.WaitGroup
	for _, owner := range []string{"a", "b", "c", "d"} {
		group.Go(func() {
			for range 20 {
				put(c, owner, "k", 30)
				count(c, owner, "k", 30)
			}
		})
	}
	group.Wait()
	if c.Bytes() > c.limit {
		t.Errorf("%d bytes of %d", c.Bytes(), c.limit)
	}
}

func TestFairOverheadIsMeasured(t *testing.T) {
	const n, owners = 100_000, 100
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := NewFair[int](1<<30, func([32]byte, []float32) int { return 32 + 24 + 256 })
	for i := range n {
		c.Put(i%owners, [32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, make([]float32, 64))
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
