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
	// clockTolerance is how far the clock of the database may go back between two heartbeats unnoticed.
	clockTolerance = 10 * time.Second
	// longestWait is longer than any wait of Postpone.
	longestWait = 10 * time.Minute
)

// beat writes the heartbeat and returns the time of the database's clock.
func (b *Backlog) beat(ctx context.Context) (now time.Time, err error) {
	err = b.control.QueryRow(ctx, `
		INSERT INTO ragd.instances (instance_id, heartbeat_at) VALUES ($1, clock_timestamp())
		ON CONFLICT (instance_id) DO UPDATE SET heartbeat_at = clock_timestamp() RETURNING heartbeat_at`, b.instance).Scan(&now)
	if err != nil {
		return now, fmt.Errorf("write the heartbeat: %w", err)
	}
	return now, nil
}

// bringForward makes the documents due that wait for longer than any Postpone: the clock of the
// database was set back after it had set their times. It reads the whole backlog.
func (b *Backlog) bringForward(ctx context.Context) error {
	tag, err := b.control.Exec(ctx, `UPDATE ragd.backlog SET due_at = now() WHERE claimed_by IS NULL AND due_at > now() + $1::interval`, longestWait)
	if err != nil {
		return fmt.Errorf("bring documents forward: %w", err)
	}
	if n := tag.RowsAffected(); n > 0 {
		b.log.WarnContext(ctx, "the clock of the database was set back: documents that waited for it are due now", "documents", n)
		b.wake()
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
	setBack := true // perhaps before the start
	var beatAt time.Time
	for {
		if setBack {
			if err := b.bringForward(ctx); err == nil {
				setBack = false
			} else if ctx.Err() == nil {
				b.log.WarnContext(ctx, "looking for documents that wait for too long failed", "err", err)
			}
		}
		if err := b.takeOver(ctx); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "taking over the work of dead instances failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, err := b.beat(ctx)
		switch {
		case err == nil:
			setBack = setBack || now.Before(beatAt.Add(-clockTolerance))
			beatAt = now
		case ctx.Err() == nil:
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
		b.wake()
	}
	return nil
}

// alive removes the heartbeats of dead instances and returns the ids of the others. A heartbeat in
// the future is older than a change of the database's clock.
func (b *Backlog) alive(ctx context.Context) ([]string, error) {
	_, err := b.control.Exec(ctx, `
		DELETE FROM ragd.instances WHERE heartbeat_at NOT BETWEEN clock_timestamp() - $1::interval AND clock_timestamp() + $1::interval`, deadAfter)
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
