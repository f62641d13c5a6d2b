package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// An instance says that it lives by a heartbeat. The work of one that fell
// silent is made available again by whoever notices first: at once for an
// instance that is taken over on start, after deadAfter otherwise. Should the
// silent one still be working, its result is refused or the same, see doc.go.
const (
	beatInterval = 3 * time.Second
	deadAfter    = 15 * time.Second
)

// beat says that this instance lives.
func (q *Queue) beat(ctx context.Context) error {
	_, err := q.control.Exec(ctx, `
		INSERT INTO ragd.instances (instance_id, heartbeat_at) VALUES ($1, clock_timestamp())
		ON CONFLICT (instance_id) DO UPDATE SET heartbeat_at = clock_timestamp()`, q.instance)
	if err != nil {
		return fmt.Errorf("write the heartbeat: %w", err)
	}
	return nil
}

// leave removes this instance, so that nobody waits for it to fall silent.
func (q *Queue) leave(ctx context.Context) error {
	_, err := q.control.Exec(ctx, `DELETE FROM ragd.instances WHERE instance_id = $1`, q.instance)
	if err != nil {
		return fmt.Errorf("remove the heartbeat: %w", err)
	}
	return nil
}

// TakeOverAll forgets every other instance, for a database that no other copy of
// the service can be using: the embedded one.
func (q *Queue) TakeOverAll(ctx context.Context) error {
	_, err := q.control.Exec(ctx, `DELETE FROM ragd.instances WHERE instance_id <> $1`, q.instance)
	if err != nil {
		return fmt.Errorf("forget earlier instances: %w", err)
	}
	return nil
}

// keepAlive beats and takes over the jobs of dead instances until ctx ends. The
// database being away for a while is not its problem.
func (q *Queue) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		if err := q.takeOver(ctx); err != nil && ctx.Err() == nil {
			q.log.WarnContext(ctx, "looking for jobs to take over", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := q.beat(ctx); err != nil && ctx.Err() == nil {
			q.log.WarnContext(ctx, "beating", "err", err)
		}
	}
}

// takeOver makes the work of dead instances available again, and what this instance
// has claimed and does not have at hand: the database did not come round to saying
// so, or to hearing how it ended.
func (q *Queue) takeOver(ctx context.Context) error {
	_, err := q.control.Exec(ctx, `DELETE FROM ragd.instances WHERE heartbeat_at < clock_timestamp() - $1::interval`, deadAfter)
	if err != nil {
		return err
	}
	tag, err := q.control.Exec(ctx, `
		UPDATE ragd.river_job AS j SET state = 'available', scheduled_at = now()
		WHERE j.state = 'running' AND NOT EXISTS (
			SELECT FROM ragd.instances AS i WHERE i.instance_id = j.attempted_by[array_upper(j.attempted_by, 1)])`)
	if err != nil {
		return err
	}
	documents, err := q.takeOverBacklog(ctx)
	if err != nil {
		return err
	}
	if jobs := tag.RowsAffected(); jobs+documents > 0 {
		q.log.InfoContext(ctx, "took over the work of dead instances", "jobs", jobs, "documents", documents)
	}
	if documents > 0 {
		q.wake()
	}
	return nil
}

func (q *Queue) takeOverBacklog(ctx context.Context) (int64, error) {
	q.hands.mu.Lock() // nothing is on its way into our hands
	defer q.hands.mu.Unlock()
	held := slices.AppendSeq([]string{}, maps.Keys(q.hands.held))
	tag, err := q.control.Exec(ctx, `
		UPDATE ragd.backlog AS b SET claimed_by = NULL, attempt = b.attempt - 1, lost = b.lost + 1
		WHERE b.claimed_by IS NOT NULL AND (
			b.claimed_by = $1 AND b.job_id <> ALL($2::uuid[])
			OR NOT EXISTS (SELECT FROM ragd.instances AS i WHERE i.instance_id = b.claimed_by))`, q.instance, held)
	return tag.RowsAffected(), err
}
