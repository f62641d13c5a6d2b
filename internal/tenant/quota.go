package tenant

import "sync"

// Quota bounds what tenants hold of something scarce on this instance: all of them
// together, and each of them, so that one leaves the others some. Units are the
// caller's. It is safe for use by many at a time; nil bounds nothing.
type Quota struct {
	all, each int64

	mu       sync.Mutex
	held     int64
	byTenant map[ID]int64
}

// NewQuota makes a Quota of all units together and each units for one tenant.
func NewQuota(all, each int64) *Quota {
	return &Quota{all: all, each: each, byTenant: map[ID]int64{}}
}

// Take takes n units, or reports false and takes none if there are too few.
func (q *Quota) Take(id ID, n int64) bool {
	if q == nil {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held+n > q.all || q.byTenant[id]+n > q.each {
		return false
	}
	q.held += n
	q.byTenant[id] += n
	return true
}

// Release gives back n units that were taken.
func (q *Quota) Release(id ID, n int64) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held -= n
	if q.byTenant[id] -= n; q.byTenant[id] == 0 {
		delete(q.byTenant, id)
	}
}

// Held returns how many units a tenant holds.
func (q *Quota) Held(id ID) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byTenant[id]
}
