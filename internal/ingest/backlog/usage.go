package backlog

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Default limits of a tenant's backlog; see Config.
const (
	defaultMaxDocuments = 100_000
	defaultMaxBytes     = 4 << 30
)

const (
	// countTTL is how long the count of a tenant's documents is cached. The cached count
	// includes what this instance adds, but not what others add, so that the limits may
	// be exceeded.
	countTTL = time.Second
	// fullDelay is how long a caller should wait when the backlog is full.
	fullDelay = 2 * time.Second
)

// usage holds the backlog limits and the backlog size of each tenant.
type usage struct {
	maxDocuments int
	maxBytes     int64

	mu      sync.Mutex
	tenants map[tenant.ID]*tenantUsage
}

// tenantUsage is the backlog size of one tenant when it was counted, plus what was admitted
// since.
type tenantUsage struct {
	documents int
	bytes     int64
	countedAt time.Time
}

func (u *tenantUsage) expired() bool { return time.Since(u.countedAt) >= countTTL }

// Refresh counts what a tenant has in the backlog, unless the cached count is younger
// than countTTL.
func (b *Backlog) Refresh(ctx context.Context, id tenant.ID) error {
	u := &b.usage
	u.mu.Lock()
	known := u.tenants[id]
	u.mu.Unlock()
	if known != nil && !known.expired() {
		return nil
	}
	counted := &tenantUsage{countedAt: time.Now()}
	control, err := b.of(ctx, id)
	if err != nil {
		return err
	}
	rows, err := control.Query(ctx, `SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM ragd.backlog WHERE tenant_id = $1`, id)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&counted.documents, &counted.bytes}, func() error { return nil })
	}
	if err != nil {
		return postgres.Fault(err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for other, known := range u.tenants { // drop tenants that stopped uploading
		if known.expired() {
			delete(u.tenants, other)
		}
	}
	u.tenants[id] = counted
	return nil
}

// Recount drops the cached count of a tenant, after documents were removed.
func (b *Backlog) Recount(id tenant.ID) {
	b.usage.mu.Lock()
	defer b.usage.mu.Unlock()
	delete(b.usage.tenants, id)
}

// Admit reserves capacity for a document of the given size. Call Refresh first. An empty
// backlog admits a document of any size. Errors: Exhausted, with the time to wait.
func (b *Backlog) Admit(id tenant.ID, bytes int64) error {
	u := &b.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	own := u.tenants[id]
	switch {
	case own == nil || own.documents == 0: // the count was dropped meanwhile, or nothing waits
	case own.documents >= u.maxDocuments:
		return fault.Retry(fullDelay, "%d documents of this tenant wait to be processed, as many as may: send more when there are fewer, or the operator raises the setting max-queued-documents", own.documents).Of("max-queued-documents")
	case own.bytes+bytes > u.maxBytes:
		return fault.Retry(fullDelay, "%d bytes of this tenant's documents wait to be processed, and with this document it would be more than %d: send it when there are fewer, or the operator raises the setting max-queued-bytes", own.bytes, u.maxBytes).Of("max-queued-bytes")
	}
	if own != nil {
		own.documents++
		own.bytes += bytes
	}
	return nil
}
