package backlog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// An instance is alive while it writes heartbeats. The first instance that notices a dead
// one makes its work available again. If a silent instance is still working after all, its
// result is rejected or identical; see doc.go.
const (
	beatInterval = 3 * time.Second
	deadAfter    = 15 * time.Second
)

// beat writes the heartbeat.
func (b *Backlog) beat(ctx context.Context) error {
	_, err := b.control.Exec(ctx, `
		INSERT INTO ragd.instances (instance_id, heartbeat_at) VALUES ($1, clock_timestamp())
		ON CONFLICT (instance_id) DO UPDATE SET heartbeat_at = clock_timestamp()`, b.instance)
	if err != nil {
		return fmt.Errorf("write the heartbeat: %w", err)
	}
	return nil
}

// leave makes available what this instance has claimed and not processed, as if it had never
// claimed it, and removes the heartbeat, so that other instances take over its jobs at once.
func (b *Backlog) leave(ctx context.Context) error {
	_, err := b.control.Exec(ctx, `
		WITH gone AS (DELETE FROM ragd.instances WHERE instance_id = $1)
		UPDATE ragd.backlog AS b SET claimed_by = NULL, attempt = b.attempt - 1 WHERE b.claimed_by = $1`, b.instance)
	if err != nil {
		return fmt.Errorf("hand back the claimed documents: %w", err)
	}
	return nil
}

// ForgetInstances declares every other instance dead. It is for the embedded database,
// which no other instance can be using.
func (b *Backlog) ForgetInstances(ctx context.Context) error {
	_, err := b.control.Exec(ctx, `DELETE FROM ragd.instances WHERE instance_id <> $1`, b.instance)
	if err != nil {
		return fmt.Errorf("forget earlier instances: %w", err)
	}
	return nil
}

// keepAlive writes heartbeats and takes over the work of dead instances until ctx ends.
// It continues after errors, such as a temporarily unavailable database.
func (b *Backlog) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		if err := b.takeOver(ctx); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "taking over the work of dead instances failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := b.beat(ctx); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "writing the heartbeat failed", "err", err)
		}
	}
}

// takeOver makes the work of dead instances available again.
func (b *Backlog) takeOver(ctx context.Context) error {
	jobs, err := b.jobs.Rescue(ctx, b.alive)
	if err != nil {
		return err
	}
	documents, err := b.unclaim(ctx)
	if err != nil {
		return err
	}
	if jobs+documents > 0 {
		b.log.InfoContext(ctx, "took over the work of dead instances", "jobs", jobs, "documents", documents)
	}
	if documents > 0 {
		b.Wake()
	}
	return nil
}

// alive removes the heartbeats of dead instances and returns the ids of the others.
func (b *Backlog) alive(ctx context.Context) ([]string, error) {
	_, err := b.control.Exec(ctx, `DELETE FROM ragd.instances WHERE heartbeat_at < clock_timestamp() - $1::interval`, deadAfter)
	if err != nil {
		return nil, err
	}
	rows, err := b.control.Query(ctx, `SELECT instance_id FROM ragd.instances`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// unclaim makes documents available that dead instances have claimed, and documents that
// this instance has claimed without a lease, because a lost connection hid the result of
// the claim or failed its release.
func (b *Backlog) unclaim(ctx context.Context) (int, error) {
	b.leases.mu.Lock() // no claim of this instance is in flight
	defer b.leases.mu.Unlock()
	leased := slices.AppendSeq([]string{}, maps.Keys(b.leases.jobs))
	tag, err := b.control.Exec(ctx, `
		UPDATE ragd.backlog AS b SET claimed_by = NULL, attempt = b.attempt - 1, lost = b.lost + 1
		WHERE b.claimed_by IS NOT NULL AND (
			b.claimed_by = $1 AND b.job_id <> ALL($2::uuid[])
			OR NOT EXISTS (SELECT FROM ragd.instances AS i WHERE i.instance_id = b.claimed_by))`, b.instance, leased)
	return int(tag.RowsAffected()), err
}
