package backlog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Depth is what waits in the backlog of all tenants and instances.
type Depth struct {
	Waiting  int64 // due, and claimed by no instance
	Claimed  int64 // being processed
	Retrying int64 // waiting for another attempt
	// Oldest is how long the document has been due that waits longest.
	Oldest time.Duration
}

// Depth counts what waits. It takes time in proportion to the backlog.
func (b *Backlog) Depth(ctx context.Context) (Depth, error) {
	rows, err := b.control.Query(ctx, `
		SELECT count(*) FILTER (WHERE b.claimed_by IS NULL AND b.due_at <= now()) AS waiting,
			count(*) FILTER (WHERE b.claimed_by IS NOT NULL) AS claimed,
			count(*) FILTER (WHERE b.claimed_by IS NULL AND b.due_at > now()) AS retrying,
			coalesce(now() - min(b.due_at) FILTER (WHERE b.claimed_by IS NULL AND b.due_at <= now()), interval '0') AS oldest
		FROM ragd.backlog AS b`)
	if err != nil {
		return Depth{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Depth])
}
