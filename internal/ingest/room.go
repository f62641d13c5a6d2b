package ingest

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Bounds of what a tenant may have in the backlog, unless QueueConfig says otherwise.
const (
	maxQueuedDocuments = 100_000
	maxQueuedBytes     = 4 << 30
)

const (
	// countedFor is how long a count of a tenant's backlog is good for, together with
	// what this instance adds. Other instances' uploads of that time may go over the
	// limits.
	countedFor = time.Second
	// fullDelay is how long to wait when the backlog is full.
	fullDelay = 2 * time.Second
)

// rooms know how much of the backlog each tenant fills.
type rooms struct {
	maxDocuments int
	maxBytes     int64

	mu      sync.Mutex
	tenants map[tenant.ID]*room
}

// room is what one tenant has in the backlog.
type room struct {
	documents int
	bytes     int64
	counted   time.Time
}

func newRooms(config QueueConfig) rooms {
	return rooms{
		maxDocuments: cmp.Or(config.MaxQueuedDocuments, maxQueuedDocuments),
		maxBytes:     cmp.Or(config.MaxQueuedBytes, maxQueuedBytes),
		tenants:      map[tenant.ID]*room{},
	}
}

// look counts what a tenant has in the backlog, unless it was counted just now.
func (q *Queue) look(ctx context.Context, id tenant.ID) error {
	r := &q.rooms
	r.mu.Lock()
	known := r.tenants[id]
	r.mu.Unlock()
	if known != nil && time.Since(known.counted) < countedFor {
		return nil
	}
	found := &room{counted: time.Now()}
	rows, err := q.control.Query(ctx, `SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM ragd.backlog WHERE tenant_id = $1`, id)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&found.documents, &found.bytes}, func() error { return nil })
	}
	if err != nil {
		return postgres.Fault(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, room := range r.tenants { // of those who stopped uploading nothing is kept
		if time.Since(room.counted) >= countedFor {
			delete(r.tenants, other)
		}
	}
	r.tenants[id] = found
	return nil
}

// recount has the tenant's backlog counted before the next upload: some of it has left.
func (q *Queue) recount(id tenant.ID) {
	q.rooms.mu.Lock()
	defer q.rooms.mu.Unlock()
	delete(q.rooms.tenants, id)
}

// admit makes room for a document of so many bytes. look must come before. A document
// is never too large for an empty backlog. Errors: Exhausted, with the time to wait.
func (q *Queue) admit(id tenant.ID, bytes int64) error {
	r := &q.rooms
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.tenants[id]
	switch {
	case own == nil || own.documents == 0: // forgotten meanwhile, or empty
	case own.documents >= r.maxDocuments:
		return fault.Retry(fullDelay, "%d documents of this tenant wait to be processed, as many as may: send more when there are fewer", own.documents)
	case own.bytes+bytes > r.maxBytes:
		return fault.Retry(fullDelay, "%d bytes of this tenant's documents wait to be processed, and with this document it would be more than %d: send it when there are fewer", own.bytes, r.maxBytes)
	}
	if own != nil {
		own.documents++
		own.bytes += bytes
	}
	return nil
}
