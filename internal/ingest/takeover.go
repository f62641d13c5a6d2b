package ingest

import (
	"context"
	"fmt"
	"time"
)

// An instance says that it lives by a heartbeat. The jobs of one that fell
// silent are made available again by whoever notices first: at once for an
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

// takeOver makes the running jobs of dead instances available again.
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
	if n := tag.RowsAffected(); n > 0 {
		q.log.InfoContext(ctx, "took over the jobs of dead instances", "jobs", n)
	}
	return nil
}
