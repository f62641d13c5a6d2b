package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/query/alert"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// Worker reads, chunks, embeds and stores documents. Safe for concurrent use.
type Worker struct {
	db        *data.DB
	models    *embed.Registry
	parse     ParseFunc
	processor *limit.Processor
	extractor *extract.Extractor
	queue     *job.Queue
	backlog   *backlog.Backlog
	alerts    *alert.Watcher
	log       *slog.Logger
}

// WorkerConfig are the settings of a Worker. All but Processor are required.
type WorkerConfig struct {
	DB        *data.DB
	Models    *embed.Registry
	Parse     ParseFunc        // reads files
	Processor *limit.Processor // cuts texts; nil is no limit
	Extractor *extract.Extractor
	Queue     *job.Queue // for the maintenance of indexes
	Backlog   *backlog.Backlog
	Alerts    *alert.Watcher // compares what is stored with the alerts of the index
	Logger    *slog.Logger
}

// NewWorker returns a Worker.
func NewWorker(c WorkerConfig) *Worker {
	return &Worker{db: c.DB, models: c.Models, parse: c.Parse, processor: c.Processor, extractor: c.Extractor, queue: c.Queue, backlog: c.Backlog, alerts: c.Alerts, log: c.Logger}
}

// task is an attempt at one version of one document.
type task struct {
	backlog.Claim
	taskDocument
	into       index.Index
	content    []byte         // at first only the first segment of a large document
	fromFile   map[string]any // metadata of all chunks that was read from the file
	text       readText
	language   string // of the document, if its index does not say one
	chunks     []chunk.Chunk
	grids      []grid.Table
	embeddings embeddings
	notice     string // of the ready document; empty for none
	err        error  // ends this attempt
}

// batch is the documents of one index that a worker processes together.
type batch struct {
	worker *Worker
	handle *data.Handle
	tasks  []*task
	alerts alert.Revision
	times  []any // of the steps, for the log: name, milliseconds, name ...
}

// largeGCPercent is the garbage collector's target while a large document is processed. At
// the default of 100 the process would take twice the memory of the document.
const largeGCPercent = 40

// batchTimeout is how long one batch may take.
const batchTimeout = 15 * time.Minute

// Process processes the claimed versions of documents of one index. All of them go through
// each step together; a document that fails a step skips the later ones. The others are
// committed as a batch. It is a backlog.Processor.
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
	limited, end := telemetry.Span(limited, "ingest", attribute.String("tenant", string(first.Tenant)), attribute.Int("documents", len(claims)))
	b.run(limited)
	end(b.failed())
	if ctx.Err() != nil {
		return // the service stops; unfinished documents are claimed again later
	}
	b.settle(ctx, time.Since(start))
}

func (b *batch) run(ctx context.Context) {
	b.step(ctx, "read", b.begin)
	if !b.quick() {
		b.step(ctx, "show", func(ctx context.Context, open []*task) error { return show(ctx, b.handle, open) })
	}
	if open := b.open(); len(open) > 0 {
		ctx = usage.InIndex(ctx, open[0].into.Name)
	}
	b.step(ctx, "split", b.split)
	b.step(ctx, "extract", b.extract)
	b.step(ctx, "embed", b.embed)
	b.step(ctx, "store", b.swap)
	b.step(ctx, "connect", b.connect)
	b.step(ctx, "finish", func(ctx context.Context, open []*task) error { return finish(ctx, b.handle, b.worker.backlog, open) })
}

// failed returns the error of one of the tasks, if any has failed.
func (b *batch) failed() error {
	for _, t := range b.tasks {
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// begin reads the documents and the current generation of the index's chunks.
func (b *batch) begin(ctx context.Context, open []*task) error {
	if err := b.handle.Admit(ctx, chunkBytes(open)); err != nil {
		return err
	}
	if err := begin(ctx, b.handle, open, &b.alerts); err != nil {
		return err
	}
	if current := b.open(); len(current) > 0 {
		b.handle = b.handle.OfIndex(current[0].into.ID, current[0].into.Generation)
	}
	return nil
}

// quick reports whether the documents take less than a second together: small texts in their
// first attempt, for which no model of a provider is called. Their states are stored only
// when they are ready, which saves a third of the writes to their rows.
func (b *batch) quick() bool {
	for _, t := range b.open() {
		format, known := parse.FormatOf(t.ContentType)
		if t.Alone() || t.Attempt > 1 || t.Status != DocumentPending || t.Extract != nil || !t.into.BuiltinModel() || known && !format.IsText() {
			return false
		}
	}
	return true
}

// chunkBytes returns about how many bytes the chunks of documents take.
func chunkBytes(tasks []*task) (bytes int64) {
	for _, t := range tasks {
		bytes += t.Bytes
	}
	return bytes
}

// open returns the tasks that have not failed.
func (b *batch) open() (open []*task) {
	for _, t := range b.tasks {
		if t.err == nil {
			open = append(open, t)
		}
	}
	return open
}

// step calls do with all open tasks. An error of do becomes the error of each of them.
func (b *batch) step(ctx context.Context, name string, do func(ctx context.Context, open []*task) error) {
	open := b.open()
	if len(open) == 0 {
		return
	}
	start := time.Now()
	ctx, end := telemetry.Span(ctx, "ingest."+name)
	err := guarded(func() error { return do(ctx, open) })
	end(err)
	took := time.Since(start)
	b.times = append(b.times, name+"_ms", milliseconds(took))
	telemetry.Stage(ctx, "ingest."+name, took)
	if err != nil {
		for _, t := range open {
			t.err = cmp.Or(t.err, err)
		}
	}
}

// embed embeds the documents in their first attempt together, and each other document
// alone, to find one that makes the provider fail.
func (b *batch) embed(ctx context.Context, open []*task) error {
	var together []*task
	for _, t := range open {
		switch {
		case t.Status == DocumentReady:
		case t.Attempt > 1:
			b.embedTogether(ctx, []*task{t})
		default:
			together = append(together, t)
		}
	}
	b.embedTogether(ctx, together)
	return nil
}

func (b *batch) embedTogether(ctx context.Context, tasks []*task) {
	if len(tasks) == 0 {
		return
	}
	err := guarded(func() error { return b.worker.embed(ctx, b.handle, tasks) })
	for _, t := range tasks {
		if err != nil && len(tasks) > 1 && !transient(err) {
			b.embedTogether(ctx, []*task{t})
		} else {
			t.err = err
		}
	}
}

// split reads the documents and splits them into chunks. Those that are ready were stored
// by an earlier attempt, which failed at a later step.
func (b *batch) split(ctx context.Context, open []*task) error {
	for _, t := range open {
		if t.Status != DocumentReady {
			t.err = b.read(ctx, t)
		}
	}
	return nil
}

// guarded calls do and returns its panic as an error, so that a document that breaks a
// reader does not end the process.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}

// read loads the rest of a document's content and splits it. Before and after a
// large document it returns free memory to the system, because the garbage collector
// would run only after the heap has doubled.
func (b *batch) read(ctx context.Context, t *task) (err error) {
	if t.Alone() {
		debug.FreeOSMemory()
		defer debug.FreeOSMemory()
	}
	if t.content, err = loadContent(ctx, b.handle, t.DocumentID, t.content, t.Bytes); err != nil {
		return err
	}
	return b.worker.split(ctx, t)
}

// split reads a document and splits it into chunks.
func (w *Worker) split(ctx context.Context, t *task) error {
	if t.Lost >= backlog.MaxLost {
		return fault.New(fault.Precondition, "the service did not survive %d attempts to process this document", t.Lost)
	}
	return guarded(func() error {
		parsed, chunks, err := t.file().split(ctx, t.Tenant, w.parse, w.processor)
		if err != nil {
			return err
		}
		if n := len(parsed.Skipped); n > 0 {
			w.log.InfoContext(ctx, "sections of a document could not be read", "tenant", t.Tenant, "document", t.DocumentID, "sections", n)
		}
		return t.take(parsed, chunks)
	})
}

// take stores the result of reading the file in the task, which no longer needs the file.
func (t *task) take(parsed parse.Document, chunks []chunk.Chunk) (err error) {
	t.fromFile, err = fileMetadata(parsed)
	t.Title = cmp.Or(t.Title, parsed.Title)
	t.text = t.readText(parsed)
	t.chunks, t.grids, t.content = chunks, parsed.Grids, nil
	delete(t.fromFile, extract.ContextKey) // no content may pass for a sentence of context
	for _, c := range chunks {
		delete(c.Metadata, extract.ContextKey)
	}
	return err
}

// swap stores the chunks of all tasks in one transaction. After a permanent error, which a
// single document may have caused, it stores the chunks of each document alone.
func (b *batch) swap(ctx context.Context, open []*task) error {
	if slices.ContainsFunc(open, func(t *task) bool { return len(t.grids) > 0 }) {
		if err := index.MakeCells(ctx, b.handle, open[0].into); err != nil {
			return err
		}
	}
	watch, err := b.watch(ctx, open)
	if err != nil {
		return err
	}
	err = swap(ctx, b.worker.queue, b.handle, watch, open)
	if err == nil || len(open) == 1 || transient(err) {
		return err
	}
	for _, t := range open {
		t.err = swap(ctx, b.worker.queue, b.handle, watch, []*task{t})
	}
	return nil
}

// watch finds the languages of the documents, and the alerts with which their chunks are compared.
func (b *batch) watch(ctx context.Context, open []*task) (watch, error) {
	into := open[0].into
	into.Languages = slices.Clone(into.Languages)
	for _, t := range open {
		t.language = t.into.LanguageOf(t.beginning())
		if t.language != "" && !slices.Contains(into.Languages, t.language) {
			into.Languages = append(into.Languages, t.language)
		}
	}
	slices.Sort(into.Languages)
	set, err := b.worker.alerts.Of(ctx, b.handle, into, b.alerts)
	return watch{b.worker.alerts, set}, err
}

// transient reports whether the same call is likely to succeed later.
func transient(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Exhausted, fault.Conflict, fault.Canceled, fault.Deadline:
		return true
	}
	return isGone(err)
}

// connect stores the edges of the documents.
func (b *batch) connect(ctx context.Context, open []*task) error {
	into := open[0].into
	var documents []graph.Document
	var connected []*task
	for _, t := range open {
		if t.Status == DocumentReady {
			t.err = graph.Reconnect(ctx, b.handle, into, t.DocumentID)
			continue
		}
		documents, connected = append(documents, t.graphDocument()), append(connected, t)
	}
	if err := graph.Connect(ctx, b.handle, into, documents...); err != nil {
		for _, t := range connected {
			t.err = err
		}
	}
	return nil
}

// graphDocument converts the document for package graph.
func (t *task) graphDocument() graph.Document {
	texts, contents := make([]string, len(t.chunks)), make([]bool, len(t.chunks))
	for i, c := range t.chunks {
		texts[i], contents[i] = c.Text, isContents(c.Metadata) || isFigure(c.Metadata)
	}
	metadata := maps.Clone(t.fromFile)
	if metadata == nil {
		metadata = map[string]any{}
	}
	given, _ := withFile(t.Metadata, t.fromFile)
	maps.Copy(metadata, given)
	return graph.Document{DocumentID: t.DocumentID, Namespace: t.Namespace, Title: t.Title, URI: t.URI, Texts: texts, Contents: contents, Metadata: metadata}
}

// settle records the attempts that failed, and logs the batch.
func (b *batch) settle(ctx context.Context, took time.Duration) {
	// ctx may have reached its deadline, so failures are recorded without it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	chunks := 0
	var overtaken []backlog.Document
	b.retryMoved(ctx)
	var logged, unrecorded error
	for _, t := range b.tasks {
		log := b.worker.log.With("tenant", t.Tenant, "document", t.DocumentID, "job", t.JobID, "attempt", t.Attempt)
		switch {
		case t.err == nil:
			chunks += len(t.chunks)
			log.DebugContext(ctx, "document ingested", "chunks", len(t.chunks))
		case errors.Is(t.err, job.ErrEnded), isGone(t.err), fault.KindOf(t.err) == fault.NotFound:
			overtaken = append(overtaken, t.Document)
			log.InfoContext(ctx, "ingest job overtaken")
		default:
			if t.err != logged { //nolint:errorlint // an error shared by the batch is logged once
				log.WarnContext(ctx, "ingest job attempt failed", "err", t.err)
				logged = t.err
			}
			if unrecorded == nil { // after an error the database is unavailable; the claims are released once it is back
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
	telemetry.Documents(ctx, "stored", len(b.open()))
	telemetry.Documents(ctx, "overtaken", len(overtaken))
	telemetry.Documents(ctx, "failed", len(b.tasks)-len(b.open())-len(overtaken))
	first := b.tasks[0]
	b.worker.log.With("tenant", first.Tenant, "index", first.IndexID).InfoContext(ctx, "documents ingested",
		append([]any{"documents", len(b.open()), "of", len(b.tasks), "chunks", chunks, "duration_ms", milliseconds(took)}, b.times...)...)
}

// retryMoved makes errors transient that came from a dropped chunk table, because the
// index was switched to another embedding model during the batch.
func (b *batch) retryMoved(ctx context.Context) {
	for _, t := range b.tasks {
		if !isGone(t.err) {
			continue
		}
		generation, err := data.Value[int](ctx, b.handle, `SELECT i.generation FROM tenant.indexes AS i WHERE i.index_id = $1`, t.IndexID)
		if err == nil && generation != t.into.Generation {
			t.err = fault.New(fault.Conflict, "the index got another embedding model meanwhile")
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// last reports whether this is the last attempt.
func (t *task) last() bool {
	return t.Attempt >= job.MaxAttempts || fault.Permanent(t.err) || errors.Is(t.err, usage.ErrQuota)
}
