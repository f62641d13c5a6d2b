package endpoint

import (
	"context"
	"sync"
)

// gate bounds how many calls are under way, of all tenants and of each.
type gate struct {
	all       chan struct{}
	perTenant int

	mu      sync.Mutex
	tenants map[string]*queue
}

// queue is the calls of one tenant, kept while it has any.
type queue struct {
	places chan struct{}
	users  int // waiting or under way; guarded by gate.mu
}

func newGate(all, perTenant int) *gate {
	return &gate{all: make(chan struct{}, all), perTenant: perTenant, tenants: map[string]*queue{}}
}

// enter waits for a place, the tenant's own first, so that a tenant with many
// calls waits behind itself and not in front of the others. The returned
// function gives the place back.
func (g *gate) enter(ctx context.Context, tenant string) (leave func(), err error) {
	q := g.join(tenant)
	select {
	case q.places <- struct{}{}:
	case <-ctx.Done():
		g.part(tenant, q)
		return nil, ctx.Err()
	}
	select {
	case g.all <- struct{}{}:
	case <-ctx.Done():
		<-q.places
		g.part(tenant, q)
		return nil, ctx.Err()
	}
	return func() {
		<-g.all
		<-q.places
		g.part(tenant, q)
	}, nil
}

func (g *gate) join(tenant string) *queue {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.tenants[tenant]
	if q == nil {
		q = &queue{places: make(chan struct{}, g.perTenant)}
		g.tenants[tenant] = q
	}
	q.users++
	return q
}

func (g *gate) part(tenant string, q *queue) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(g.tenants, tenant)
	}
}
