// Package limit shares a scarce amount between keys, such as tenants: a total for
// all and a bound for each, so that one key leaves the others some.
//
// A caller either takes units or is refused (TryAcquire), or waits for one until
// its context ends (Acquire). Rates over time are golang.org/x/time/rate's.
package limit

import (
	"container/list"
	"context"
	"math"
	"sync"
)

// Limiter bounds the units in use, of all keys together and of each. What a unit
// is, the caller says: a byte, a connection, a request.
//
// Waiting is fair: within a key, who came first gets the next unit; keys that wait
// below their own bound get one each in turn. A key that waits for its own units
// holds nobody up. Nobody is let in ahead of somebody who waits and could go next.
//
// Every call takes time that does not depend on the number of keys or waiters. A
// key takes memory only while it has units or waiters. Safe for concurrent use.
// A nil Limiter bounds nothing.
type Limiter[K comparable] struct {
	total, each int64

	mu   sync.Mutex
	used int64
	keys map[K]*usage
	// turns are the keys that have waiters and are below their own bound, the one
	// whose turn it is in front.
	turns list.List // of *usage
}

// usage is what one key has and who waits for more.
type usage struct {
	used    int64
	waiters list.List     // of chan struct{}, closed when the waiter has its unit
	turn    *list.Element // in Limiter.turns, nil when not there
}

// New returns a Limiter of total units together and each units for one key. 0 means
// no bound.
func New[K comparable](total, each int64) *Limiter[K] {
	if total == 0 {
		total = math.MaxInt64
	}
	if each == 0 {
		each = math.MaxInt64
	}
	return &Limiter[K]{total: total, each: each, keys: map[K]*usage{}}
}

// TryAcquire takes n units for a key, or reports false and takes none if there are
// too few, or others wait for them.
func (l *Limiter[K]) TryAcquire(key K, n int64) bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(key, n)
}

// Acquire waits for a unit for a key. Give it back with Release. Errors: the
// context's, with nothing taken.
func (l *Limiter[K]) Acquire(ctx context.Context, key K) error {
	if l == nil {
		return ctx.Err()
	}
	l.mu.Lock()
	if err := ctx.Err(); err != nil {
		l.mu.Unlock()
		return err
	}
	if l.take(key, 1) {
		l.mu.Unlock()
		return nil
	}
	own := l.of(key)
	ready := make(chan struct{})
	waiter := own.waiters.PushBack(ready)
	l.queue(own)
	l.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		l.abandon(key, own, waiter)
		return ctx.Err()
	}
}

// Release gives back n units of a key that were taken.
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

// Used returns how many units a key has.
func (l *Limiter[K]) Used(key K) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.keys[key]; own != nil {
		return own.used
	}
	return 0
}

// take takes n units unless there are too few or somebody waits who could go next.
func (l *Limiter[K]) take(key K, n int64) bool {
	own := l.keys[key]
	switch {
	case n > l.total-l.used, l.turns.Len() > 0:
		return false
	case own == nil:
		if n > l.each {
			return false
		}
		own = l.of(key)
	case n > l.each-own.used:
		return false
	}
	l.used += n
	own.used += n
	l.forget(key, own) // of no units
	return true
}

func (l *Limiter[K]) of(key K) *usage {
	own := l.keys[key]
	if own == nil {
		own = &usage{}
		l.keys[key] = own
	}
	return own
}

// forget drops a key that has neither units nor waiters.
func (l *Limiter[K]) forget(key K, own *usage) {
	if own.used == 0 && own.waiters.Len() == 0 {
		delete(l.keys, key)
	}
}

// queue gives a key a turn if it waits for a unit that its own bound allows, and
// takes its turn away if it does not.
func (l *Limiter[K]) queue(own *usage) {
	waits := own.waiters.Len() > 0 && own.used < l.each
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

// serve gives free units to waiters, a key at a time.
func (l *Limiter[K]) serve() {
	for l.used < l.total {
		front := l.turns.Front()
		if front == nil {
			return
		}
		own := l.turns.Remove(front).(*usage)
		own.turn = nil
		close(own.waiters.Remove(own.waiters.Front()).(chan struct{}))
		l.used++
		own.used++
		l.queue(own) // behind the others
	}
}

// abandon takes out a waiter whose context ended. A unit that it got meanwhile goes
// to the next.
func (l *Limiter[K]) abandon(key K, own *usage, waiter *list.Element) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-waiter.Value.(chan struct{}):
		l.release(key, own, 1)
	default:
		own.waiters.Remove(waiter)
		l.queue(own)
		l.forget(key, own)
	}
}
