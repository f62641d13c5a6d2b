package data

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
)

// Freshness is what a caller demands of the data that its request reads. The zero value is that of
// a caller who says nothing.
type Freshness struct {
	// MaxStaleness is how stale the data may be; 0 for data of the primary. Nil: as the operator
	// has set.
	MaxStaleness *time.Duration
	// WriteToken is that of a write which the data must contain, or those of several with commas
	// between; empty for none.
	WriteToken string
}

// Check returns an error if no data can be so fresh. Errors: Invalid, naming the field.
func (f Freshness) Check() error {
	if f.MaxStaleness != nil {
		if err := replica.CheckStaleness("maxStaleness", *f.MaxStaleness); err != nil {
			return err
		}
	}
	if f.WriteToken == "" {
		return nil
	}
	return replica.CheckTokens("writeToken", f.WriteToken)
}

// Reading returns a handle for one request whose statements only read: batches run at a replica
// that is fresh enough, else at the primary. All run at the same replica, or from some batch on
// at the primary. A batch that failed at a replica runs again, so its functions must keep nothing
// of a run that failed. Transactions and sessions are those of the primary.
func (h *Handle) Reading(f Freshness) *Handle {
	of := *h
	of.reading = &reading{freshness: f}
	return &of
}

// Primary returns the handle whose statements all run at the primary.
func (h *Handle) Primary() *Handle {
	of := *h
	of.reading = nil
	return &of
}

// reading is where one request reads.
type reading struct {
	freshness Freshness

	mu   sync.Mutex
	site *Site // in which the request has begun; nil before its first batch
	at   *replica.Reading
}

// in returns how the request reads in the database of a handle: nil for at the primary, also when the
// tenant was moved here while the request runs.
func (r *reading) in(h *Handle) *replica.Reading {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.site == nil {
		r.site, r.at = h.site, h.site.Replicas.Begin(string(h.id), r.freshness.MaxStaleness, r.freshness.WriteToken)
	}
	if r.site != h.site {
		return nil
	}
	return r.at
}

// WriteToken returns a token for all that was written for a tenant before the call; empty if its
// database has no replicas.
func (db *DB) WriteToken(ctx context.Context, id tenant.ID) string {
	h, err := db.Handle(id).at(ctx)
	if err != nil {
		return replica.AnyPrimary
	}
	return h.site.Replicas.Token(ctx, string(id))
}

// runAtReplica runs the batch at a replica of the database of a handle. done is false if it has to
// run at the primary.
func (b *Batch) runAtReplica(ctx context.Context, h *Handle) (done bool, err error) {
	return b.handle.reading.in(h).Run(ctx, func(ctx context.Context, conn *pgxpool.Conn, check replica.Check) error {
		h.use(conn.Conn())
		return conn.SendBatch(ctx, b.queued(check)).Close()
	})
}
