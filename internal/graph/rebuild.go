package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Rebuilder runs the jobs on graphs. Safe for concurrent use.
type Rebuilder struct {
	db    *data.DB
	queue *job.Queue
	log   *slog.Logger
}

// NewRebuilder returns a Rebuilder. db is the database for background work.
func NewRebuilder(db *data.DB, queue *job.Queue, log *slog.Logger) *Rebuilder {
	return &Rebuilder{db: db, queue: queue, log: log}
}

const rebuildTimeout = 6 * time.Hour

// Runners returns what starts, runs, cancels and retries the jobs on graphs.
func (s *Service) Runners(r *Rebuilder) job.Registry {
	run := func(find findFunc) func(context.Context, job.Attempt) error {
		return func(ctx context.Context, a job.Attempt) error { return r.run(ctx, a, find) }
	}
	return job.Registry{
		job.Graph: {
			Run: run(Rebuild), Timeout: rebuildTimeout, Cancel: s.cancelRebuild, Retry: s.retryRebuild,
			Start: func(ctx context.Context, tx *data.Tx, indexID int64) error {
				_, err := startJob(ctx, s.queue, tx, job.Graph, indexID)
				return err
			},
		},
		job.Link: {
			Run: run(link), Timeout: rebuildTimeout,
			Start: func(ctx context.Context, tx *data.Tx, indexID int64) error {
				return startLinking(ctx, s.queue, tx, indexID)
			},
		},
	}
}

// findFunc finds edges of an index. report is called as by Rebuild.
type findFunc func(ctx context.Context, h *data.Handle, i index.Index, report func(done int) error) error

func (r *Rebuilder) run(ctx context.Context, a job.Attempt, find findFunc) error {
	start := time.Now()
	h := r.db.Handle(a.Tenant)
	log := r.log.With("tenant", a.Tenant, "index", a.IndexID, "job", a.JobID, "attempt", a.Number)
	err := r.rebuild(ctx, h, a.Task, find)
	var gone *data.GoneError // the index got another embedding model, or was deleted
	switch {
	case err == nil:
		log.InfoContext(ctx, "graph rebuilt", "duration_ms", time.Since(start).Milliseconds())
		return nil
	case errors.Is(err, job.ErrEnded), !errors.As(err, &gone) && ctx.Err() == nil && fault.KindOf(err) == fault.NotFound:
		return job.Stop(err)
	}
	log.WarnContext(ctx, "rebuilding a graph failed", "err", err)
	return errors.Join(err, failRebuild(ctx, h, a.Task, fault.Public(err), a.Last))
}

func (r *Rebuilder) rebuild(ctx context.Context, h *data.Handle, task job.Task, find findFunc) error {
	i, documents, err := beginRebuild(ctx, h, task)
	if err != nil {
		return err
	}
	h = h.OfIndex(i.ID, i.Generation)
	err = find(ctx, h, i, func(done int) error {
		return job.Progress(ctx, h, task.JobID, done, max(documents, done))
	})
	if err != nil {
		return err
	}
	count, err := countComponents(ctx, h, i)
	if err != nil {
		return fmt.Errorf("count the components of a graph: %w", err)
	}
	return r.end(ctx, h, task, count)
}
