package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/ragdhq/ragd/internal/backlog"
	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/extract"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/job"
	"github.com/ragdhq/ragd/internal/parse"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Worker brings documents into their index. Safe for concurrent use.
type Worker struct {
	db        *tenant.DB
	models    *embed.Registry
	parse     ParseFunc
	extractor *extract.Extractor
	queue     *job.Queue
	backlog   *backlog.Backlog
	log       *slog.Logger
}

// WorkerConfig are the settings of a Worker. All are required.
type WorkerConfig struct {
	DB        *tenant.DB
	Models    *embed.Registry
	Parse     ParseFunc // reads files
	Extractor *extract.Extractor
	Queue     *job.Queue // for the maintenance of indexes
	Backlog   *backlog.Backlog
	Logger    *slog.Logger
}

// NewWorker returns a Worker.
func NewWorker(c WorkerConfig) *Worker {
	return &Worker{db: c.DB, models: c.Models, parse: c.Parse, extractor: c.Extractor, queue: c.Queue, backlog: c.Backlog, log: c.Logger}
}

// task is the work on one version of one document.
type task struct {
	backlog.Claim
	workDocument
	into       index.Index
	content    []byte // at first, of a large document, its first part
	chunks     []chunk.Chunk
	embeddings embeddings
	err        error // why this attempt is over
}

// batch is what a worker does at once: documents of one index.
type batch struct {
	worker *Worker
	handle *tenant.Handle
	tasks  []*task
	times  []any // of the steps, as names and milliseconds by turns
}

// largeGCPercent is how much garbage there may be, as a share of what is in use, while a
// large document is in work: with as much of it as of the document, twice the room would
// be taken.
const largeGCPercent = 40

// batchTimeout is how long one batch may take.
const batchTimeout = 15 * time.Minute

// Process brings the claimed versions of documents, which are of one index, into it. All
// go through each step together; one for which a step fails goes no further. Documents
// are written and committed by the batch, and fail alone. It is a backlog.Processor.
func (w *Worker) Process(ctx context.Context, claims []backlog.Claim) {
	start := time.Now()
	first := claims[0]
	b := &batch{worker: w, handle: w.db.Handle(first.Tenant)}
	for _, c := range claims {
		b.tasks = append(b.tasks, &task{Claim: c})
	}
	if first.Alone() {
		defer debug.SetGCPercent(debug.SetGCPercent(largeGCPercent))
	}
	limited, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	defer func() {
		for _, t := range b.tasks {
			t.embeddings.close()
		}
	}()
	b.run(limited)
	if ctx.Err() != nil {
		return // the service stops; what is not finished is taken up again
	}
	b.settle(ctx, time.Since(start))
}

func (b *batch) run(ctx context.Context) {
	b.step("read", func(open []*task) error { return b.begin(ctx, open) })
	b.step("split", func(open []*task) error { return b.split(ctx, open) })
	b.step("extract", func(open []*task) error { return b.extract(ctx, open) })
	b.step("embed", func(open []*task) error { return b.embed(ctx, open) })
	b.step("store", func(open []*task) error { return b.swap(ctx, open) })
	b.step("connect", func(open []*task) error { return b.connect(ctx, open) })
	b.step("finish", func(open []*task) error { return finish(ctx, b.handle, b.worker.backlog, open) })
}

// begin reads the documents, and with them which generation of the index's chunks is
// the present one.
func (b *batch) begin(ctx context.Context, open []*task) error {
	if err := begin(ctx, b.handle, open); err != nil {
		return err
	}
	if current := b.open(); len(current) > 0 {
		b.handle = b.handle.OfIndex(current[0].into.ID, current[0].into.Generation)
	}
	return nil
}

// open are the tasks that have not failed.
func (b *batch) open() (open []*task) {
	for _, t := range b.tasks {
		if t.err == nil {
			open = append(open, t)
		}
	}
	return open
}

// step does something for all open tasks. Its error is everybody's.
func (b *batch) step(name string, do func(open []*task) error) {
	open := b.open()
	if len(open) == 0 {
		return
	}
	start := time.Now()
	defer func() { b.times = append(b.times, name+"_ms", milliseconds(time.Since(start))) }()
	if err := guarded(func() error { return do(open) }); err != nil {
		for _, t := range open {
			t.err = cmp.Or(t.err, err)
		}
	}
}

// embed embeds together what has never failed, and each of the others alone: what
// fails for all is told apart from what one document makes fail.
func (b *batch) embed(ctx context.Context, open []*task) error {
	var together []*task
	for _, t := range open {
		switch {
		case t.Status == DocumentReady:
		case t.Attempt > 1:
			b.embedPart(ctx, []*task{t})
		default:
			together = append(together, t)
		}
	}
	b.embedPart(ctx, together)
	return nil
}

func (b *batch) embedPart(ctx context.Context, part []*task) {
	if len(part) == 0 {
		return
	}
	err := guarded(func() error { return b.worker.embed(ctx, b.handle, part) })
	for _, t := range part {
		if err != nil && len(part) > 1 && !transient(err) {
			b.embedPart(ctx, []*task{t})
		} else {
			t.err = err
		}
	}
}

// split parses the documents and cuts them. What is ready was stored by an attempt
// that came no further.
func (b *batch) split(ctx context.Context, open []*task) error {
	for _, t := range open {
		if t.Status != DocumentReady {
			t.err = b.read(ctx, t)
		}
	}
	return nil
}

// guarded turns a panic into an error: a document that breaks a parser fails, and
// not the process.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}

// read completes a document's content and cuts it. Around that, what uploading a large
// one and reading it took is given back at once: the collector would wait until memory
// has as much again.
func (b *batch) read(ctx context.Context, t *task) (err error) {
	if t.Alone() {
		debug.FreeOSMemory()
		defer debug.FreeOSMemory()
	}
	if t.content, err = wholeContent(ctx, b.handle, t.DocumentID, t.content, t.Bytes); err != nil {
		return err
	}
	return b.worker.split(ctx, t)
}

// split parses a document and cuts it.
func (w *Worker) split(ctx context.Context, t *task) error {
	if t.Lost >= backlog.MaxLost {
		return fault.New(fault.Precondition, "the service did not survive %d attempts to process this document", t.Lost)
	}
	return guarded(func() error {
		parsed, chunks, err := t.file().split(ctx, w.parse)
		if err != nil {
			return err
		}
		if n := len(parsed.Skipped); n > 0 {
			w.log.InfoContext(ctx, "parts of a document could not be read", "tenant", t.Tenant, "document", t.DocumentID, "parts", n)
		}
		t.take(parsed, chunks)
		return nil
	})
}

// take keeps what reading the file gave. The file itself is not needed any more.
func (t *task) take(parsed parse.Document, chunks []chunk.Chunk) {
	givePlace(t.Metadata, chunks)
	t.Metadata = ofFile(t.Metadata, parsed)
	t.Title = cmp.Or(t.Title, parsed.Title)
	t.chunks, t.content = chunks, nil
}

// swap stores the chunks of all tasks, or, where that fails for a reason that one
// document may be, of each alone.
func (b *batch) swap(ctx context.Context, open []*task) error {
	err := swap(ctx, b.worker.queue, b.handle, open)
	if err == nil || len(open) == 1 || transient(err) {
		return err
	}
	for _, t := range open {
		t.err = swap(ctx, b.worker.queue, b.handle, []*task{t})
	}
	return nil
}

// passes reports whether what failed is likely to work later as it is.
func transient(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Exhausted, fault.Conflict, fault.Canceled, fault.Deadline:
		return true
	}
	return isGone(err)
}

// connect brings the documents into the graph.
func (b *batch) connect(ctx context.Context, open []*task) error {
	into := open[0].into
	var documents []graph.Document
	var connected []*task
	for _, t := range open {
		if t.Status == DocumentReady {
			t.err = graph.Reconnect(ctx, b.handle, into, t.DocumentID)
			continue
		}
		documents, connected = append(documents, t.connected()), append(connected, t)
	}
	if err := graph.Connect(ctx, b.handle, into, documents...); err != nil {
		for _, t := range connected {
			t.err = err
		}
	}
	return nil
}

// connected is the document as the graph sees it.
func (t *task) connected() graph.Document {
	texts := make([]string, len(t.chunks))
	for i, c := range t.chunks {
		texts[i] = c.Text
	}
	return graph.Document{DocumentID: t.DocumentID, Namespace: t.Namespace, Title: t.Title, URI: t.URI, Texts: texts, Metadata: t.Metadata}
}

// settle records how the attempts ended that did not succeed.
func (b *batch) settle(ctx context.Context, took time.Duration) {
	// An attempt may have failed because its time was over, so recording that must
	// not depend on it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	chunks := 0
	var overtaken []backlog.Document
	b.excuseMoved(ctx)
	var told, unrecorded error
	for _, t := range b.tasks {
		log := b.worker.log.With("tenant", t.Tenant, "document", t.DocumentID, "job", t.JobID, "attempt", t.Attempt)
		switch {
		case t.err == nil:
			chunks += len(t.chunks)
			log.DebugContext(ctx, "document ingested", "chunks", len(t.chunks))
		case errors.Is(t.err, job.ErrEnded), isGone(t.err), fault.KindOf(t.err) == fault.NotFound:
			overtaken = append(overtaken, t.Claim.Document)
			log.InfoContext(ctx, "ingest job overtaken")
		default:
			if t.err != told { //nolint:errorlint // the very same: what all of the batch failed by is told once
				log.WarnContext(ctx, "ingest job attempt failed", "err", t.err)
				told = t.err
			}
			if unrecorded == nil { // else the database is away, and the document stays ours until it is back
				unrecorded = recordFailure(ctx, b.handle, b.worker.backlog, t)
			}
		}
	}
	if unrecorded != nil {
		b.worker.log.WarnContext(ctx, "recording failed attempts", "err", unrecorded)
	}
	if len(overtaken) > 0 {
		if err := b.worker.backlog.Remove(ctx, overtaken...); err != nil {
			b.worker.log.WarnContext(ctx, "removing documents from the backlog", "err", err)
		}
	}
	first := b.tasks[0]
	b.worker.log.With("tenant", first.Tenant, "index", first.IndexID).InfoContext(ctx, "documents ingested",
		append([]any{"documents", len(b.open()), "of", len(b.tasks), "chunks", chunks, "duration_ms", milliseconds(took)}, b.times...)...)
}

// excuseMoved has documents tried again whose chunks' table was gone because the index
// got another embedding model meanwhile.
func (b *batch) excuseMoved(ctx context.Context) {
	for _, t := range b.tasks {
		if !isGone(t.err) {
			continue
		}
		generation, err := tenant.Value[int](ctx, b.handle, `SELECT i.generation FROM tenant.indexes AS i WHERE i.index_id = $1`, t.IndexID)
		if err == nil && generation != t.into.Generation {
			t.err = fault.New(fault.Conflict, "the index got another embedding model meanwhile")
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// last reports whether there will be no other attempt.
func (t *task) last() bool {
	return t.Attempt >= job.MaxAttempts || fault.Permanent(t.err)
}
