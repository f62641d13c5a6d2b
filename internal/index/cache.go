package index

import (
	"time"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	cacheSize = 10_000
	// cacheTTL is how long other instances may use outdated settings.
	cacheTTL = 5 * time.Second
)

// known caches indexes by name, so that a query need not load its index.
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
