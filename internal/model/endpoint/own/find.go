package own

import (
	"context"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/tenant"
)

// fresh is how long a tenant's endpoints are used before they are read again: so much later
// does an instance notice a change that another instance made.
const fresh = 5 * time.Second

// maxLoaded bounds the tenants whose endpoints are in memory.
const maxLoaded = 10_000

// loaded holds the endpoints of tenants that used models lately.
type loaded struct {
	tenants *cache.Cache[tenant.ID, *endpoints]
}

// endpoints are those of one tenant.
type endpoints struct {
	mu     sync.Mutex
	until  time.Time // when they are read again
	byName map[string]found
}

// found is an endpoint in memory.
type found struct {
	endpoint *endpoint.Endpoint // keeps what it knows of its calls until it is changed
	updated  time.Time
	secret   string // as stored
	err      error  // of decrypting
}

func newLoaded() *loaded {
	return &loaded{cache.New(cache.Config[tenant.ID, *endpoints]{Entries: maxLoaded})}
}

// of returns the endpoints of a tenant, which may be out of date.
func (l *loaded) of(id tenant.ID) *endpoints {
	if e, ok := l.tenants.Get(id); ok {
		return e
	}
	return l.tenants.PutIfAbsent(id, &endpoints{})
}

// forget makes the next use of a tenant's endpoints read them.
func (l *loaded) forget(id tenant.ID) {
	e := l.of(id)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.until = time.Time{}
}

// Find returns a tenant's endpoint, nil if it has none of this name. It is an
// endpoint.OwnFunc. Errors: Precondition when its key cannot be decrypted.
func (s *Service) Find(ctx context.Context, id, name string) (*endpoint.Endpoint, error) {
	e := s.loaded.of(tenant.ID(id))
	e.mu.Lock()
	defer e.mu.Unlock()
	if !time.Now().Before(e.until) {
		rows, err := stored.List(ctx, s.config.DB.Handle(tenant.ID(id)), "", maxEndpoints)
		if err != nil {
			return nil, err
		}
		e.byName, e.until = s.build(tenant.ID(id), rows, e.byName), time.Now().Add(fresh)
	}
	f := e.byName[name]
	return f.endpoint, f.err
}

// build returns the endpoints of the rows. It keeps those in old that have not changed.
func (s *Service) build(id tenant.ID, rows []row, old map[string]found) map[string]found {
	byName := make(map[string]found, len(rows))
	for _, r := range rows {
		if same := old[r.EndpointName]; same.endpoint != nil && same.updated.Equal(r.UpdatedAt) && same.secret == string(r.Secret) {
			byName[r.EndpointName] = same
			continue
		}
		secret, err := s.open(id, r)
		f := found{updated: r.UpdatedAt, secret: string(r.Secret), err: err}
		if err == nil {
			f.endpoint = endpoint.NewEndpoint(r.EndpointName, r.Kind, r.endpoint().config(secret, s.config.Guard))
		}
		byName[r.EndpointName] = f
	}
	return byName
}
