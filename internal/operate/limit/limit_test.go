package limit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAKeyCannotTakeAllUnits(t *testing.T) {
	t.Parallel()
	l := New[string](8, 4)
	for range 2 {
		if !l.TryAcquire("acme", 2) {
			t.Fatal("refused below both bounds")
		}
	}
	if l.TryAcquire("acme", 1) {
		t.Error("more than its bound for one key")
	}
	if !l.TryAcquire("bolt", 4) {
		t.Error("the others' units were refused")
	}
	if l.TryAcquire("corp", 1) {
		t.Error("more than the total")
	}
	l.Release("acme", 4)
	if got := l.Used("acme"); got != 0 {
		t.Errorf("%d are used after all were given back", got)
	}
	if !l.TryAcquire("corp", 1) {
		t.Error("refused with units free again")
	}
	if l.TryAcquire("dune", 5) || l.Used("dune") != 0 || len(l.keys) != 2 {
		t.Errorf("what was refused left something: %d keys", len(l.keys))
	}
}

func TestALimiterWithoutBounds(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*Limiter[string]{"nil": nil, "0": New[string](0, 0)} {
		if !l.TryAcquire("acme", 1<<40) || l.Acquire(t.Context(), "acme") != nil {
			t.Errorf("%s bounds something", name)
		}
		l.Release("acme", 1<<40+1)
	}
}

func TestReleasingMoreThanWasTakenPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("it did not")
		}
	}()
	New[string](1, 1).Release("acme", 1)
}

// waiters starts one goroutine for each letter of keys, in that order, which waits
// for a unit and writes its letter when it has one.
type waiters struct {
	limiter *Limiter[string]
	mu      sync.Mutex
	got     strings.Builder
}

func (w *waiters) start(ctx context.Context, keys string) {
	for _, key := range strings.Split(keys, "") {
		go func() {
			if w.limiter.Acquire(ctx, key) == nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.got.WriteString(key)
			}
		}()
		synctest.Wait()
	}
}

func (w *waiters) release(t *testing.T, key, want string) {
	t.Helper()
	w.got.Reset()
	w.limiter.Release(key, 1)
	synctest.Wait()
	if got := w.got.String(); got != want {
		t.Errorf("a unit of %s went to %q, want %q", key, got, want)
	}
}

func TestKeysTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[string](2, 3)
		w := &waiters{limiter: l}
		w.start(t.Context(), "aa")
		w.start(t.Context(), "aaaabbc")
		if l.TryAcquire("d", 1) {
			t.Error("let in ahead of those who wait")
		}
		for _, step := range []struct{ from, to string }{{"a", "a"}, {"a", "b"}, {"a", "c"}, {"b", "a"}, {"c", "b"}, {"b", "a"}, {"a", "a"}} {
			w.release(t, step.from, step.to)
		}
		w.release(t, "a", "")
		w.release(t, "a", "")
		if len(l.keys) != 0 || l.turns.Len() != 0 || l.used != 0 {
			t.Errorf("%d keys, %d turns, %d units are left", len(l.keys), l.turns.Len(), l.used)
		}
	})
}

func TestAKeyAtItsLimitDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[string](4, 2)
		w := &waiters{limiter: l}
		w.start(t.Context(), "aaaa") // two wait
		w.start(t.Context(), "b")
		if got := w.got.String(); got != "aab" {
			t.Errorf("%q were let in, want aab", got)
		}
		if !l.TryAcquire("c", 1) {
			t.Error("refused though those who wait could not use it")
		}
		w.release(t, "b", "") // a is at its own limit
		w.release(t, "a", "a")
		w.release(t, "a", "a")
		l.Release("a", 2)
		l.Release("c", 1)
		if len(l.keys) != 0 {
			t.Errorf("%d keys are left", len(l.keys))
		}
	})
}

func TestWaitersOfAKeyAreServedInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[string](1, 1)
		if err := l.Acquire(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 5 {
			go func() {
				_ = l.Acquire(t.Context(), "a")
				order = append(order, i)
				l.Release("a", 1)
			}()
			synctest.Wait()
		}
		l.Release("a", 1)
		synctest.Wait()
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("served in the order %v", order)
		}
	})
}

func TestAWaiterThatGivesUpDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[string](1, 1)
		w := &waiters{limiter: l}
		w.start(t.Context(), "a")
		leaving, leave := context.WithCancel(t.Context())
		w.start(leaving, "bab")
		w.start(t.Context(), "c")
		leave()
		synctest.Wait()
		w.release(t, "a", "c")
		w.release(t, "c", "")
		if len(l.keys) != 0 || l.turns.Len() != 0 {
			t.Errorf("%d keys and %d turns are left", len(l.keys), l.turns.Len())
		}
	})
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[string](1, 1)
		ended, end := context.WithCancel(t.Context())
		end()
		if err := l.Acquire(ended, "a"); !errors.Is(err, context.Canceled) || l.Used("a") != 0 {
			t.Errorf("an ended context got a unit: %v", err)
		}
		_ = l.Acquire(t.Context(), "a")
		begun := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := l.Acquire(short, "b"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 5*time.Second {
			t.Errorf("ended after %s: %v", time.Since(begun), err)
		}
	})
}

// Under concurrent use the limits hold and no unit is lost.
func TestLimiterUnderContention(t *testing.T) {
	t.Parallel()
	const total, each = 8, 3
	l := New[string](total, each)
	var all atomic.Int64
	perKey := [4]atomic.Int64{}
	var group sync.WaitGroup
	for worker := range 32 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 500 {
				n, i := int64(1), random.IntN(4)
				key := fmt.Sprint(i)
				if random.IntN(3) == 0 {
					n = 1 + random.Int64N(2)
					if !l.TryAcquire(key, n) {
						continue
					}
				} else {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(100))*time.Microsecond)
					err := l.Acquire(ctx, key)
					cancel()
					if err != nil {
						continue
					}
				}
				if all.Add(n) > total || perKey[i].Add(n) > each {
					t.Error("more is in use than may be")
				}
				for range random.IntN(10) {
					runtime.Gosched()
				}
				perKey[i].Add(-n)
				all.Add(-n)
				l.Release(key, n)
			}
		})
	}
	group.Wait()
	if l.used != 0 || len(l.keys) != 0 || l.turns.Len() != 0 {
		t.Errorf("%d units, %d keys and %d turns are left", l.used, len(l.keys), l.turns.Len())
	}
}

// A waiter for many units is neither overtaken by those behind it of the same key, nor
// does it delay other keys while its own key has too few.
func TestWaitersForManyUnits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[string](10, 6)
		if err := l.AcquireN(t.Context(), "acme", 4); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var large, small atomic.Int64
		go func() { large.Store(1 + int64(len(fmt.Sprint(l.AcquireN(ctx, "acme", 5))))) }()
		synctest.Wait()
		go func() {
			if l.AcquireN(t.Context(), "acme", 1) == nil {
				small.Add(1)
			}
		}()
		synctest.Wait()
		if large.Load() != 0 || small.Load() != 0 || l.TryAcquire("acme", 1) {
			t.Error("a later caller overtook the waiter of its key")
		}
		if !l.TryAcquire("bolt", 6) {
			t.Error("a key over its own limit delays another")
		}
		cancel()
		synctest.Wait()
		if large.Load() == 0 || small.Load() != 0 {
			t.Errorf("after the waiter left: %d, %d", large.Load(), small.Load())
		}
		l.Release("bolt", 6)
		synctest.Wait()
		if small.Load() != 1 || l.Used("acme") != 5 {
			t.Errorf("%d are served, %d units are used", small.Load(), l.Used("acme"))
		}
		l.Release("acme", 5)
		if len(l.keys) != 0 || l.used != 0 {
			t.Errorf("%d keys and %d units are left", len(l.keys), l.used)
		}
	})
}

func TestTheLimitOfAKeyMayChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[string](0, 0)
		var running atomic.Int32
		acquire := func(each int64) {
			if l.AcquireWithin(t.Context(), "acme", each, time.Hour) == nil {
				running.Add(1)
			}
		}
		for range 3 {
			go acquire(2)
		}
		synctest.Wait()
		if got := running.Load(); got != 2 {
			t.Errorf("%d of 2 run", got)
		}
		go acquire(4)
		synctest.Wait()
		if got := running.Load(); got != 4 {
			t.Errorf("%d of 4 run after the limit was raised", got)
		}
		go acquire(1)
		synctest.Wait()
		l.Release("acme", 2)
		synctest.Wait()
		if got := running.Load(); got != 4 {
			t.Errorf("%d began after the limit was lowered, with as many running", got-4)
		}
		l.Release("acme", 2)
		synctest.Wait()
		if got := running.Load(); got != 5 {
			t.Errorf("%d of 5 have run", got)
		}
		if err := l.AcquireWithin(t.Context(), "bolt", 0, time.Hour); err != nil {
			t.Error(err)
		}
	})
}
