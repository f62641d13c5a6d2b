package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// ReembedQueue is the queue of jobs that give indexes another embedding model. They
// may take hours, and maintenance does not wait for them.
const ReembedQueue = "reembed"

// reembedKind is the kind of the jobs that give an index another embedding model.
const reembedKind = "reembed"

const (
	// reembedAttempts is how often such a job is tried. Each goes on where the last
	// one ended.
	reembedAttempts = 25
	// switchAttempts is how often the switch is tried, each time for switchWait: as
	// long as it waits for those who use the old chunks, others wait for it.
	switchAttempts = 60
	switchWait     = time.Second
)

// reembedArgs are what a queued job says.
type reembedArgs struct {
	Tenant  tenant.ID `json:"tenant"`
	IndexID int64     `json:"index_id"`
	JobID   string    `json:"job_id"`
}

// Kind names the job in the queue's tables.
func (reembedArgs) Kind() string { return reembedKind }

// LinkFunc brings the chunks of an index with new embeddings into its graph, as
// graph.Relink does.
type LinkFunc func(ctx context.Context, h *tenant.Handle, i Index) error

// Reembedder gives indexes another embedding model. It makes the chunks' next
// generation in a table beside that of the present one:
//
//	prepare   make the table, note all documents, and have a trigger note those
//	          whose chunks change from now on
//	copy      embed and copy documents that are noted, until none is
//	build     the Postgres index over the new embeddings, if it pays
//	switch    with the present chunks locked: if none is noted, the next generation
//	          is the present one, and the table of the old one is dropped
//	link      find anew which chunks are near to each other
//
// Queries and uploads use the present generation until the switch. Those that are
// under way then find its table gone, look the index up again and start over. A job
// that is cut off goes on where it was.
type Reembedder struct {
	river.WorkerDefaults[reembedArgs]
	db     *tenant.DB
	models *embed.Registry
	link   LinkFunc
	log    *slog.Logger
}

// NewReembedder returns a Reembedder.
func NewReembedder(db *tenant.DB, models *embed.Registry, link LinkFunc, log *slog.Logger) *Reembedder {
	return &Reembedder{db: db, models: models, link: link, log: log}
}

// Timeout implements river.Worker.
func (r *Reembedder) Timeout(*river.Job[reembedArgs]) time.Duration { return maintenanceTimeout }

// errEnded says that a job was cancelled, or its index deleted.
var errEnded = errors.New("the job has ended")

// Work implements river.Worker.
func (r *Reembedder) Work(ctx context.Context, job *river.Job[reembedArgs]) error {
	h, args := r.db.Handle(job.Args.Tenant), job.Args
	err := alone(ctx, h, args.IndexID, func(s *tenant.Session) error { return r.reembed(ctx, h, s, args) })
	var snooze *river.JobSnoozeError
	if err == nil || errors.As(err, &snooze) {
		return err
	}
	log := r.log.With("tenant", args.Tenant, "index", args.IndexID, "job", args.JobID, "attempt", job.Attempt)
	if ctx.Err() == nil {
		if _, gone := begin(ctx, h, args); errors.Is(gone, errEnded) { // whatever went wrong, it was for that
			log.InfoContext(ctx, "reembedding overtaken")
			return river.JobCancel(errEnded)
		}
	}
	log.WarnContext(ctx, "reembedding attempt failed", "err", err)
	return r.fail(ctx, h, job, err)
}

// fail records a failed attempt. What no retry can mend ends the job and leaves the
// index as it is.
func (r *Reembedder) fail(ctx context.Context, h *tenant.Handle, job *river.Job[reembedArgs], cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if job.Attempt < job.MaxAttempts && !fault.Permanent(cause) {
		err := h.Tx(ctx, func(tx *tenant.Tx) error {
			return FailAttempt(ctx, tx, job.Args.JobID, fault.Public(cause), false)
		})
		return errors.Join(cause, err)
	}
	err := h.Tx(ctx, func(tx *tenant.Tx) error {
		return abandon(ctx, tx, job.Args.JobID, "failed", fault.Public(cause))
	})
	return river.JobCancel(errors.Join(cause, err))
}

func (r *Reembedder) reembed(ctx context.Context, h *tenant.Handle, s *tenant.Session, args reembedArgs) error {
	i, err := begin(ctx, h, args)
	if err != nil {
		return err
	}
	start := time.Now()
	if i.Next != nil {
		if i, err = r.replace(ctx, h, s, i); err != nil {
			return err
		}
	}
	h = h.OfIndex(i.ID, i.Generation)
	if err := r.link(ctx, h, i); err != nil {
		return err
	}
	r.log.InfoContext(ctx, "index reembedded", "tenant", args.Tenant, "index", i.Name, "model", i.EmbeddingModel, "duration_ms", time.Since(start).Milliseconds())
	return endReembed(ctx, h, args)
}

// replace makes the next generation and has it take over. It returns the index as it
// is then.
func (r *Reembedder) replace(ctx context.Context, h *tenant.Handle, s *tenant.Session, i Index) (Index, error) {
	next := i.afterSwitch()
	c := copier{
		old: h.OfIndex(i.ID, i.Generation), fresh: h.OfIndex(next.ID, next.Generation),
		from: i, to: next, jobID: i.Next.JobID,
	}
	var err error
	if c.model, err = next.Model(r.models); err != nil {
		return next, err
	}
	if err := c.prepare(ctx); err != nil {
		return next, err
	}
	if err := c.copyAll(ctx); err != nil {
		return next, err
	}
	if err := c.build(ctx, s.OfIndex(next.ID, next.Generation)); err != nil {
		return next, err
	}
	for attempt := 1; ; attempt++ {
		if err := c.copyAll(ctx); err != nil {
			return next, err
		}
		err := c.takeOver(ctx)
		switch {
		case err == nil:
			return c.to, nil
		case !errors.Is(err, errNotCopied) && fault.KindOf(err) != fault.Conflict || attempt == switchAttempts:
			return next, err
		}
		select { // let those through who wait for the chunks
		case <-time.After(switchWait / 5):
		case <-ctx.Done():
			return next, ctx.Err()
		}
	}
}

// afterSwitch is the index as its next generation will have it.
func (i Index) afterSwitch() Index {
	n := i.Next
	i.Generation++
	i.EmbeddingModel, i.Dimension, i.VectorType, i.Next = n.EmbeddingModel, n.Dimension, n.VectorType, nil
	i.Built, i.measuredWidth = false, 0
	return i
}

// begin marks the job as running and returns its index, whose Next is nil after the
// switch. Errors: errEnded.
func begin(ctx context.Context, h *tenant.Handle, args reembedArgs) (Index, error) {
	found, err := tenant.Select[indexRow](ctx, h, `
		WITH job AS (
			UPDATE tenant.jobs AS j SET status = 'running', attempts = j.attempts + (j.status = 'queued')::int, updated_at = now()
			WHERE j.job_id = $2 AND j.status IN ('queued', 'running')
			RETURNING j.job_id
		)
		SELECT `+indexColumns+` FROM tenant.indexes AS i JOIN job ON job.job_id = i.reembed_job_id WHERE i.index_id = $1`,
		args.IndexID, args.JobID)
	if err == nil && len(found) == 0 {
		err = errEnded
	}
	if err != nil {
		return Index{}, err
	}
	return found[0].index(), nil
}

func endReembed(ctx context.Context, h *tenant.Handle, args reembedArgs) error {
	return h.Tx(ctx, func(tx *tenant.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE tenant.indexes SET reembed_job_id = NULL WHERE index_id = $1 AND reembed_job_id = $2`, args.IndexID, args.JobID)
		if err != nil {
			return err
		}
		return EndJob(ctx, tx, args.JobID)
	})
}

// abandon ends a job before the switch and drops what it has made. Errors:
// Precondition when it is too late for that.
func abandon(ctx context.Context, tx *tenant.Tx, jobID, status, reason string) error {
	found, err := tenant.Select[indexRow](ctx, tx, `
		UPDATE tenant.indexes AS i SET reembed_job_id = NULL, next_model = NULL, next_dimension = NULL, next_vector_type = NULL
		WHERE i.reembed_job_id = $1 AND i.next_model IS NOT NULL
		RETURNING `+indexColumns, jobID)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fault.New(fault.Precondition, "job %q is ending: it is too late to cancel it", jobID)
	}
	i := found[0].index()
	old := tx.OfIndex(i.ID, i.Generation)
	if err := i.executeAll(ctx, old, dropNotes); err != nil {
		return err
	}
	if _, err := tx.OfIndex(i.ID, i.Generation+1).Exec(ctx, `DROP TABLE IF EXISTS tenant.chunk`); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM tenant.reembed_documents WHERE index_id = $1`, i.ID); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE tenant.jobs SET status = $2, error = $3, updated_at = now()
		WHERE job_id = $1 AND status IN ('queued', 'running')`, jobID, status, reason)
	return err
}

// dropNotes undoes what noteChanges did.
var dropNotes = []string{
	`DROP TRIGGER IF EXISTS record_inserted_chunks ON tenant.chunk`,
	`DROP TRIGGER IF EXISTS record_updated_chunks ON tenant.chunk`,
	`DROP TRIGGER IF EXISTS record_deleted_chunks ON tenant.chunk`,
}

// noteChanges has it noted of which documents the chunks change.
func (i Index) noteChanges() []string {
	call := fmt.Sprintf(`FOR EACH STATEMENT EXECUTE FUNCTION tenant.record_changed_documents('%d')`, i.ID)
	return []string{
		`CREATE TRIGGER record_inserted_chunks AFTER INSERT ON tenant.chunk REFERENCING NEW TABLE AS changed ` + call,
		`CREATE TRIGGER record_updated_chunks AFTER UPDATE ON tenant.chunk REFERENCING NEW TABLE AS changed ` + call,
		`CREATE TRIGGER record_deleted_chunks AFTER DELETE ON tenant.chunk REFERENCING OLD TABLE AS changed ` + call,
	}
}
