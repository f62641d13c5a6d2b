package storage

import (
	"context"
	"sync"
	"time"
)

// countTTL is how long the count of a tenant's bytes is used. What this instance admits
// meanwhile is added to it; what others admit is not, so that the quota may be exceeded.
const countTTL = 10 * time.Second

// tenants holds the usage of the tenants that have stored something lately.
type tenants struct {
	mu    sync.Mutex
	known map[string]*usage
}

// usage is how many bytes a tenant had when they were counted, plus what was admitted
// since.
type usage struct {
	bytes     int64
	countedAt time.Time
}

// used returns the bytes of a tenant. Concurrent calls for one tenant may count at once.
func (t *tenants) used(ctx context.Context, name string, now time.Time, count func(context.Context) (int64, error)) (int64, error) {
	t.mu.Lock()
	if u := t.known[name]; u != nil && now.Sub(u.countedAt) < countTTL {
		defer t.mu.Unlock()
		return u.bytes, nil
	}
	t.mu.Unlock()
	bytes, err := count(ctx)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for other, u := range t.known {
		if now.Sub(u.countedAt) >= countTTL {
			delete(t.known, other)
		}
	}
	t.known[name] = &usage{bytes: bytes, countedAt: now}
	return bytes, nil
}

// add adds admitted bytes to the usage of a tenant.
func (t *tenants) add(name string, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u := t.known[name]; u != nil {
		u.bytes += bytes
	}
}
