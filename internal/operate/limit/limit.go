// Package limit divides a scarce resource between keys, such as tenants. There is a limit
// for all keys together and one for each key, so that no key can use up the resource.
//
// TryAcquire takes units or fails at once; Acquire and AcquireN wait for units until their
// context ends. A Processor divides processor time in the same manner. For rates over time
// use golang.org/x/time/rate.
package limit

import (
	"container/list"
	"context"
	"math"
	"sync"
	"time"
)

// Limiter limits the units in use, of all keys together and of each key. The caller
// chooses the unit: a byte, a connection, a request.
//
// Waiting is fair: the waiters of one key are served in order, and keys with waiters take
// turns, one waiter each. A key whose first waiter exceeds the key's own limit has no turn
// and does not delay other keys. A new caller never overtakes a waiter of its own key, or
// one that could be served next.
//
// Every call takes constant time. A key uses memory only while it has units or waiters.
// Safe for concurrent use. A nil Limiter limits nothing.
type Limiter[K comparable] struct {
	total, each int64

	mu   sync.Mutex
	used int64
	keys map[K]*usage
	// turns lists the keys whose first waiter is within their own limit. The first is
	// served next.
	turns list.List // of *usage
}

// usage holds the units and the waiters of one key.
type usage struct {
	each    int64 // the limit of this key
	used    int64
	waiters list.List     // of waiter
	turn    *list.Element // in Limiter.turns, nil when not there
}

// waiter waits for n units. ready is closed when it has them.
type waiter struct {
	n     int64
	ready chan struct{}
}

// New returns a Limiter of total units for all keys together and of each units for one
// key. 0 means no limit.
func New[K comparable](total, each int64) *Limiter[K] {
	if total == 0 {
		total = math.MaxInt64
	}
	if each == 0 {
		each = math.MaxInt64
	}
	return &Limiter[K]{total: total, each: each, keys: map[K]*usage{}}
}

// TryAcquire takes n units for a key. It takes none and returns false if there are too few,
// or if others wait for them.
func (l *Limiter[K]) TryAcquire(key K, n int64) bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(key, n, l.each)
}

// Acquire waits for a unit for a key and takes it. Release must follow. Errors: that of the
// context; then no unit is taken.
func (l *Limiter[K]) Acquire(ctx context.Context, key K) error { return l.AcquireN(ctx, key, 1) }

// AcquireN is Acquire for n units at once. It waits until ctx ends if n exceeds a limit.
func (l *Limiter[K]) AcquireN(ctx context.Context, key K, n int64) error {
	if l == nil {
		return ctx.Err()
	}
	return l.acquire(ctx, key, n, l.each)
}

// AcquireWithin is Acquire for a key with a limit of its own, of each units, in place of the
// Limiter's, and waits at most for the given time. The limit may differ from call to call: the
// last one counts, also for those that wait. 0 means no limit. Errors: that of the context;
// context.DeadlineExceeded when the time has passed. Do not call it for keys of which the
// other methods take units.
func (l *Limiter[K]) AcquireWithin(ctx context.Context, key K, each int64, wait time.Duration) error {
	if each == 0 {
		each = math.MaxInt64
	}
	if ctx.Err() == nil && l.tryAcquire(key, each) {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return l.acquire(waiting, key, 1, each)
}

func (l *Limiter[K]) tryAcquire(key K, each int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(key, 1, each)
}

func (l *Limiter[K]) acquire(ctx context.Context, key K, n, each int64) error {
	l.mu.Lock()
	if err := ctx.Err(); err != nil {
		l.mu.Unlock()
		return err
	}
	if l.take(key, n, each) {
		l.mu.Unlock()
		return nil
	}
	own := l.of(key, each)
	queued := own.waiters.PushBack(waiter{n, make(chan struct{})})
	l.queue(own)
	l.serve() // a higher limit may let waiters of the key go on
	l.mu.Unlock()
	return l.await(ctx, key, own, queued)
}

// await waits until a waiter has its units or the context ends.
func (l *Limiter[K]) await(ctx context.Context, key K, own *usage, queued *list.Element) error {
	select {
	case <-queued.Value.(waiter).ready:
		return nil
	case <-ctx.Done():
		l.abandon(key, own, queued)
		return ctx.Err()
	}
}

// Release returns n units of a key. It panics if the key has fewer.
func (l *Limiter[K]) Release(key K, n int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.keys[key]
	if own == nil || own.used < n {
		panic("limit: released more than was taken")
	}
	l.release(key, own, n)
}

// Pass gives a unit of a key to the next waiter and waits for another one, behind those who
// wait already. Without waiters the key keeps its unit. Errors: that of the context; then
// the key has lost the unit.
func (l *Limiter[K]) Pass(ctx context.Context, key K) error {
	l.mu.Lock()
	if l.turns.Len() == 0 {
		l.mu.Unlock()
		return nil
	}
	own := l.keys[key]
	queued := own.waiters.PushBack(waiter{1, make(chan struct{})})
	l.release(key, own, 1)
	l.mu.Unlock()
	return l.await(ctx, key, own, queued)
}

// Used returns how many units a key has.
func (l *Limiter[K]) Used(key K) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.keys[key]; own != nil {
		return own.used
	}
	return 0
}

// Taken returns how many units all keys have together.
func (l *Limiter[K]) Taken() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// take takes n units of a key with the limit each, unless there are too few or a waiter could
// be served next.
func (l *Limiter[K]) take(key K, n, each int64) bool {
	own := l.keys[key]
	switch {
	case n > l.total-l.used, l.turns.Len() > 0:
		return false
	case own == nil:
		if n > each {
			return false
		}
		own = l.of(key, each)
	case n > each-own.used, own.waiters.Len() > 0:
		return false
	}
	l.used += n
	own.used += n
	l.forget(key, own) // if n is 0
	return true
}

// of returns the usage of a key and sets its limit.
func (l *Limiter[K]) of(key K, each int64) *usage {
	own := l.keys[key]
	if own == nil {
		own = &usage{}
		l.keys[key] = own
	}
	own.each = each
	return own
}

// forget drops a key that has neither units nor waiters.
func (l *Limiter[K]) forget(key K, own *usage) {
	if own.used == 0 && own.waiters.Len() == 0 {
		delete(l.keys, key)
	}
}

// queue appends a key to turns if its first waiter is within the key's own limit.
// Otherwise it removes the key from turns.
func (l *Limiter[K]) queue(own *usage) {
	front := own.waiters.Front()
	waits := front != nil && front.Value.(waiter).n <= own.each-own.used
	switch {
	case waits && own.turn == nil:
		own.turn = l.turns.PushBack(own)
	case !waits && own.turn != nil:
		l.turns.Remove(own.turn)
		own.turn = nil
	}
}

func (l *Limiter[K]) release(key K, own *usage, n int64) {
	l.used -= n
	own.used -= n
	l.queue(own)
	l.serve()
	l.forget(key, own)
}

// serve gives free units to waiters, one waiter per key and turn.
func (l *Limiter[K]) serve() {
	for front := l.turns.Front(); front != nil; front = l.turns.Front() {
		own := front.Value.(*usage)
		first := own.waiters.Front()
		w := first.Value.(waiter)
		if w.n > l.total-l.used {
			return
		}
		l.turns.Remove(front)
		own.turn = nil
		own.waiters.Remove(first)
		close(w.ready)
		l.used += w.n
		own.used += w.n
		l.queue(own) // behind the others
	}
}

// abandon removes a waiter whose context ended. If the waiter was given its units
// meanwhile, they go to the next ones.
func (l *Limiter[K]) abandon(key K, own *usage, queued *list.Element) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := queued.Value.(waiter)
	select {
	case <-w.ready:
		l.release(key, own, w.n)
	default:
		own.waiters.Remove(queued)
		l.release(key, own, 0) // those behind it may need fewer units
	}
}
