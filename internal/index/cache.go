package index

import (
	"time"

	"github.com/ragdhq/ragd/internal/cache"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	cacheSize = 10_000
	// cacheTTL bounds how long a changed setting goes unnoticed by other
	// instances.
	cacheTTL = 5 * time.Second
)

// known remembers indexes by name, so that a query need not look its index up.
type known struct {
	indexes *cache.Cache[knownKey, Index]
}

type knownKey struct {
	tenant tenant.ID
	name   string
}

func newKnown() *known {
	return &known{cache.New(cache.Config[knownKey, Index]{Entries: cacheSize, TTL: cacheTTL})}
}

func (k *known) get(id tenant.ID, name string) (Index, bool) {
	return k.indexes.Get(knownKey{id, name})
}

// put stores an index that was read at the given time.
func (k *known) put(id tenant.ID, i Index, read time.Time) {
	k.indexes.PutLoaded(knownKey{id, i.Name}, i, read)
}

func (k *known) forget(id tenant.ID, name string) { k.indexes.Remove(knownKey{id, name}) }
