package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

const (
	// reembedAttempts is the maximum number of attempts of a job. Each continues where the
	// last one ended.
	reembedAttempts = 25
	// switchAttempts is the maximum number of attempts to switch generations. Each waits at
	// most switchWait for users of the old chunks, because other users wait behind it.
	switchAttempts = 60
	switchWait     = time.Second
)

// LinkFunc finds the similar edges of an index with new embeddings, as graph.Relink
// does.
type LinkFunc func(ctx context.Context, h *data.Handle, i Index) error

// EmbeddedTextFunc returns the text of a stored chunk that is embedded for an index, as when its document is ingested.
type EmbeddedTextFunc func(Index, StoredText) string

// Reembedder changes the embedding model of indexes. It writes the next generation of
// the chunks into a table beside that of the current one:
//
//	prepare   create the table, record all documents, and create a trigger that
//	          records those whose chunks change from now on
//	copy      embed and copy recorded documents, until there are none
//	build     create the Postgres index over the new embeddings, if it is large enough
//	switch    lock the current chunks; if no document is recorded, make the next
//	          generation the current one, and drop the table of the old one
//	link      find the similar edges
//
// Queries and uploads use the current generation until the switch. Those that run
// during the switch find the table gone, and start over with the new one; see
// Service.Use. A job that is interrupted continues where it was.
type Reembedder struct {
	db     *data.DB
	models *embed.Registry
	text   EmbeddedTextFunc
	link   LinkFunc
	log    *slog.Logger
}

// NewReembedder returns a Reembedder.
func NewReembedder(db *data.DB, models *embed.Registry, text EmbeddedTextFunc, link LinkFunc, log *slog.Logger) *Reembedder {
	return &Reembedder{db: db, models: models, text: text, link: link, log: log}
}

func (r *Reembedder) run(ctx context.Context, a job.Attempt) error {
	h := r.db.Handle(a.Tenant)
	err := alone(ctx, h, a.IndexID, func(s *data.Session) error { return r.reembed(ctx, h, s, a.Task) })
	if err == nil || job.Snoozed(err) {
		return err
	}
	log := r.log.With("tenant", a.Tenant, "index", a.IndexID, "job", a.JobID, "attempt", a.Number)
	if ctx.Err() == nil {
		if _, ended := begin(ctx, h, a.Task); errors.Is(ended, job.ErrEnded) { // the attempt failed because the job has ended
			log.InfoContext(ctx, "reembedding overtaken")
			return job.Stop(job.ErrEnded)
		}
	}
	log.WarnContext(ctx, "reembedding attempt failed", "err", err)
	return r.fail(ctx, h, a, err)
}

// fail records a failed attempt. After the last one, or a permanent error, the job ends
// and the index stays as it is.
func (r *Reembedder) fail(ctx context.Context, h *data.Handle, a job.Attempt, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	last := a.Last && h.Disk() == nil || fault.Permanent(cause)
	err := h.Tx(ctx, func(tx *data.Tx) error {
		if last {
			if err := abandon(ctx, tx, a.JobID); err != nil {
				return err
			}
		}
		return job.FailAttempt(ctx, tx, a.JobID, 0, fault.Public(cause), last)
	})
	err = errors.Join(cause, err)
	if last {
		return job.Stop(err)
	}
	return err
}

func (r *Reembedder) reembed(ctx context.Context, h *data.Handle, s *data.Session, task job.Task) error {
	i, err := begin(ctx, h, task)
	if err != nil {
		return err
	}
	start := time.Now()
	if i.Next != nil {
		if i, err = r.replace(ctx, h, s, task.Tenant, i); err != nil {
			return err
		}
	}
	h = h.OfIndex(i.ID, i.Generation)
	if err := r.link(ctx, h, i); err != nil {
		return err
	}
	r.log.InfoContext(ctx, "index reembedded", "tenant", task.Tenant, "index", i.Name, "model", i.EmbeddingModel, "duration_ms", time.Since(start).Milliseconds())
	return endReembed(ctx, h, task)
}

// replace builds the next generation and switches to it. It returns the index as it is
// after that.
func (r *Reembedder) replace(ctx context.Context, h *data.Handle, s *data.Session, id tenant.ID, i Index) (Index, error) {
	next := i.afterSwitch()
	c := copier{
		old: h.OfIndex(i.ID, i.Generation), fresh: h.OfIndex(next.ID, next.Generation),
		from: i, to: next, jobID: i.Next.JobID, text: r.text,
	}
	var err error
	if c.model, err = next.Model(ctx, r.models, id); err != nil {
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
		select { // let waiting users of the chunks through
		case <-time.After(switchWait / 5):
		case <-ctx.Done():
			return next, ctx.Err()
		}
	}
}

// afterSwitch returns the index as it is after the switch.
func (i Index) afterSwitch() Index {
	n := i.Next
	i.Generation++
	i.EmbeddingModel, i.Dimension, i.VectorType, i.Next = n.EmbeddingModel, n.Dimension, n.VectorType, nil
	i.Built, i.measured = false, Measurement{}
	return i
}

// begin marks the job running and returns its index, whose Next is nil after the switch.
// Errors: job.ErrEnded.
func begin(ctx context.Context, h *data.Handle, task job.Task) (Index, error) {
	var found []indexRow
	err := h.Tx(ctx, func(tx *data.Tx) (err error) {
		if err := job.Begin(ctx, tx, task.JobID); err != nil {
			return err
		}
		found, err = data.Select[indexRow](ctx, tx, `
			SELECT `+indexColumns+` FROM tenant.indexes AS i WHERE i.index_id = $1 AND i.reembed_job_id = $2`, task.IndexID, task.JobID)
		if err == nil && len(found) == 0 {
			err = job.ErrEnded
		}
		return err
	})
	if err != nil {
		return Index{}, err
	}
	return found[0].index(), nil
}

func endReembed(ctx context.Context, h *data.Handle, task job.Task) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE tenant.indexes SET reembed_job_id = NULL WHERE index_id = $1 AND reembed_job_id = $2`, task.IndexID, task.JobID)
		if err != nil {
			return err
		}
		return job.Succeed(ctx, tx, task.JobID)
	})
}

// abandon drops the unfinished next generation of a job. The caller ends the job.
// Errors: Precondition after the switch.
func abandon(ctx context.Context, tx *data.Tx, jobID string) error {
	found, err := data.Select[indexRow](ctx, tx, `
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
	if err := i.executeAll(ctx, old, dropRecording); err != nil {
		return err
	}
	_, err = tx.OfIndex(i.ID, i.Generation+1).Exec(ctx, `DROP TABLE IF EXISTS tenant.chunk`)
	return err
}

// dropRecording holds the statements that undo recordChanges.
var dropRecording = []string{
	`DROP TRIGGER IF EXISTS record_inserted_chunks ON tenant.chunk`,
	`DROP TRIGGER IF EXISTS record_updated_chunks ON tenant.chunk`,
	`DROP TRIGGER IF EXISTS record_deleted_chunks ON tenant.chunk`,
	`DROP TABLE IF EXISTS tenant.reembed`,
}

// recordChanges returns the statements that create the table of documents whose chunks are
// still to be copied, and the triggers that record those whose chunks change.
func (i Index) recordChanges() []string {
	call := fmt.Sprintf(`FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.record_changed_documents('%d')`, i.ID)
	return []string{
		`CREATE TABLE tenant.reembed (
			document_id uuid PRIMARY KEY,
			change      bigint NOT NULL DEFAULT 0 -- grows with every change of the chunks
		)`,
		`CREATE TRIGGER record_inserted_chunks AFTER INSERT ON tenant.chunk REFERENCING NEW TABLE AS changed ` + call,
		`CREATE TRIGGER record_updated_chunks AFTER UPDATE ON tenant.chunk REFERENCING NEW TABLE AS changed ` + call,
		`CREATE TRIGGER record_deleted_chunks AFTER DELETE ON tenant.chunk REFERENCING OLD TABLE AS changed ` + call,
	}
}
