package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/riverqueue/river"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Worker does ingest jobs. Safe for concurrent use.
type Worker struct {
	river.WorkerDefaults[ingestArgs]
	db     *tenant.DB
	models *embed.Registry
	parse  ParseFunc
	log    *slog.Logger
}

// NewWorker returns a Worker that reads files by parse.
func NewWorker(db *tenant.DB, models *embed.Registry, parse ParseFunc, log *slog.Logger) *Worker {
	return &Worker{db: db, models: models, parse: parse, log: log}
}

// errOvertaken says that the document was deleted, or uploaded again, since the
// job was queued. Whoever did that has ended the job in the tenant's table.
var errOvertaken = errors.New("overtaken by a newer version or a deletion")

// Work brings one version of a document into its index. It implements
// river.Worker.
func (w *Worker) Work(ctx context.Context, job *river.Job[ingestArgs]) error {
	start := time.Now()
	h := w.db.Handle(job.Args.Tenant).OfIndex(job.Args.IndexID)
	n, err := w.ingest(ctx, h, job)
	log := w.log.With("tenant", job.Args.Tenant, "document", job.Args.DocumentID, "job", job.Args.JobID,
		"attempt", job.Attempt, "chunks", n, "duration_ms", time.Since(start).Milliseconds())
	switch {
	case err == nil:
		log.InfoContext(ctx, "document ingested")
		return nil
	case errors.Is(err, errOvertaken), isGone(err), ctx.Err() == nil && fault.KindOf(err) == fault.NotFound:
		log.InfoContext(ctx, "ingest job overtaken")
		return river.JobCancel(err)
	}
	log.WarnContext(ctx, "ingest job attempt failed", "err", err)
	return w.fail(ctx, h, job, err)
}

// ingest does the work and turns a panic into an error: a document that breaks a
// parser fails alone.
func (w *Worker) ingest(ctx context.Context, h *tenant.Handle, job *river.Job[ingestArgs]) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	d, err := begin(ctx, h, job.Args, job.Attempt)
	if err != nil {
		return 0, err
	}
	if d.Status == DocumentReady { // stored before, by an attempt that came no further
		if err := graph.Reconnect(ctx, h, d.index(), job.Args.DocumentID); err != nil {
			return 0, err
		}
		return d.ChunkCount, finish(ctx, h, job.Args, d.ChunkCount)
	}
	if d.Content, err = wholeContent(ctx, h, job.Args.DocumentID, d.Content, d.ByteSize); err != nil {
		return 0, err
	}
	parsed, chunks, err := d.file().split(ctx, w.parse)
	if err != nil {
		return 0, err
	}
	if n := len(parsed.Skipped); n > 0 {
		w.log.InfoContext(ctx, "parts of a document could not be read", "tenant", job.Args.Tenant, "document", job.Args.DocumentID, "parts", n)
	}
	givePlace(d.Metadata, chunks)
	d.Metadata = ofFile(d.Metadata, parsed)
	d.Title = cmp.Or(d.Title, parsed.Title)
	embeddings, err := w.embedAll(ctx, h, job.Args, d, chunks)
	if err != nil {
		return 0, err
	}
	if err := swap(ctx, h, job.Args, d, chunks, embeddings); err != nil {
		return 0, err
	}
	if err := graph.Connect(ctx, h, d.index(), connected(job.Args.DocumentID, d, chunks)); err != nil {
		return 0, err
	}
	return len(chunks), finish(ctx, h, job.Args, len(chunks))
}

// connected is the document as the graph sees it.
func connected(documentID string, d workDocument, chunks []chunk.Chunk) graph.Document {
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = c.Text
	}
	return graph.Document{DocumentID: documentID, Title: d.Title, URI: d.URI, Texts: texts}
}

// embedBatch is how many chunks are embedded between two reports of progress.
const embedBatch = 256

func (w *Worker) embedAll(ctx context.Context, h *tenant.Handle, args ingestArgs, d workDocument, chunks []chunk.Chunk) ([][]float32, error) {
	model, err := d.index().Model(w.models)
	if err != nil {
		return nil, err
	}
	embeddings := make([][]float32, 0, len(chunks))
	for done := 0; done < len(chunks); done += embedBatch {
		if len(chunks) > embedBatch {
			if err := progress(ctx, h, args.JobID, done, len(chunks)); err != nil {
				return nil, err
			}
		}
		batch := chunks[done:min(done+embedBatch, len(chunks))]
		texts := make([]string, len(batch))
		for i, c := range batch {
			texts[i] = embeddedText(d.Title, c.Text)
		}
		made, err := model.Embed(ctx, texts)
		if err != nil {
			return nil, err
		}
		embeddings = append(embeddings, made...)
	}
	return embeddings, nil
}

// embeddedText is what stands for a chunk in the embedding: a chunk in the middle
// of a document rarely says what the document is about, so its title goes first.
func embeddedText(title, text string) string {
	if title == "" {
		return text
	}
	return title + "\n\n" + text
}

// fail records a failed attempt. What no retry can mend ends the job.
func (w *Worker) fail(ctx context.Context, h *tenant.Handle, job *river.Job[ingestArgs], cause error) error {
	final := job.Attempt >= job.MaxAttempts
	switch fault.KindOf(cause) {
	case fault.Invalid, fault.Precondition, fault.Denied:
		final = true
	}
	// The attempt may have failed because its context ended, so recording that
	// must not depend on it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := recordFailure(ctx, h, job.Args, fault.Public(cause), final); err != nil {
		return errors.Join(cause, err)
	}
	if final {
		return river.JobCancel(cause)
	}
	return cause
}
