package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Rebuilder does the jobs that index.Service.RebuildGraph starts. Safe for
// concurrent use.
type Rebuilder struct {
	river.WorkerDefaults[index.RebuildArgs]
	db  *tenant.DB
	log *slog.Logger
}

// NewRebuilder returns a Rebuilder.
func NewRebuilder(db *tenant.DB, log *slog.Logger) *Rebuilder { return &Rebuilder{db: db, log: log} }

const rebuildTimeout = 6 * time.Hour

// Timeout implements river.Worker.
func (r *Rebuilder) Timeout(*river.Job[index.RebuildArgs]) time.Duration { return rebuildTimeout }

// errEnded says that the job was cancelled.
var errEnded = errors.New("the job has ended")

// Work rebuilds one graph. It implements river.Worker.
func (r *Rebuilder) Work(ctx context.Context, job *river.Job[index.RebuildArgs]) error {
	start := time.Now()
	h := r.db.Handle(job.Args.Tenant)
	log := r.log.With("tenant", job.Args.Tenant, "index", job.Args.IndexID, "job", job.Args.JobID, "attempt", job.Attempt)
	err := r.rebuild(ctx, h, job.Args)
	var gone *tenant.GoneError // the index got another embedding model, or was deleted
	switch {
	case err == nil:
		log.InfoContext(ctx, "graph rebuilt", "duration_ms", time.Since(start).Milliseconds())
		return nil
	case errors.Is(err, errEnded), !errors.As(err, &gone) && ctx.Err() == nil && fault.KindOf(err) == fault.NotFound:
		return river.JobCancel(err)
	}
	log.WarnContext(ctx, "rebuilding a graph failed", "err", err)
	return errors.Join(err, failRebuild(ctx, h, job.Args, fault.Public(err), job.Attempt >= job.MaxAttempts))
}

func (r *Rebuilder) rebuild(ctx context.Context, h *tenant.Handle, args index.RebuildArgs) error {
	i, err := beginRebuild(ctx, h, args)
	if err != nil {
		return err
	}
	h = h.OfIndex(i.ID, i.Generation)
	find := Rebuild
	if args.Linking {
		find = link
	}
	if err := find(ctx, h, i, func(done int) error { return progressOf(ctx, h, args, done) }); err != nil {
		return err
	}
	count, err := countComponents(ctx, h, i)
	if err != nil {
		return fmt.Errorf("count the components of a graph: %w", err)
	}
	return endRebuild(ctx, h, args, count)
}
