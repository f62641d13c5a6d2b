package ingest

import (
	"context"
	"errors"
	"slices"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/alert"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// taskDocument is what a worker needs of a stored document.
type taskDocument struct {
	ID          string
	Namespace   string
	Present     int // the current version
	URI         string
	Title       string
	ContentType string
	Metadata    map[string]any
	Chunking    chunk.Settings
	Extract     *extract.Settings // nil for nothing
	Status      string
	Notice      string // of the stored version
	ChunkCount  int
}

// taskContent is the first segment of a document's content, which is all of a small one.
type taskContent struct {
	DocumentID string
	Content    []byte
}

func (t *task) file() file {
	return file{
		Source:   parse.Source{Content: t.content, ContentType: t.ContentType, FileName: t.URI, Hidden: includesHidden(t.Chunking)},
		Chunking: t.Chunking,
	}
}

// Statements about a batch find rows by = ANY($1) alone and take what they set from
// arrays; see job.BeginAll.

// begin reads the documents of the tasks, the index and the revision of its alerts in one round trip. A task whose
// version is not the current one gets job.ErrEnded.
func begin(ctx context.Context, h *data.Handle, tasks []*task, alerts *alert.Revision) error {
	_, documents, _, _ := columnsOfTasks(tasks)
	var found []taskDocument
	var contents []taskContent
	var into index.Index
	b := h.Batch()
	b.Query(data.Rows(&found), `
		SELECT d.document_id::text AS id, d.namespace, d.version AS present, d.uri, d.title, d.content_type, d.metadata, d.chunking, d.extract, d.status, d.chunk_count, `+noticeSQL+` AS notice
		FROM tenant.documents AS d WHERE d.document_id = ANY($1::uuid[])`, documents)
	index.Load(b, tasks[0].IndexID, &into)
	alert.Revise(b, tasks[0].IndexID, alerts)
	b.Query(data.Rows(&contents), `
		SELECT c.document_id::text, c.content FROM tenant.document_contents AS c
		WHERE c.document_id = ANY($1::uuid[]) AND c.segment = 0`, documents)
	if err := b.Run(ctx); err != nil {
		return err
	}
	current := make(map[string]taskDocument, len(found))
	for _, d := range found {
		current[d.ID] = d
	}
	content := make(map[string][]byte, len(contents))
	for _, c := range contents {
		content[c.DocumentID] = c.Content
	}
	for _, t := range tasks {
		d, ok := current[t.DocumentID]
		if !ok || d.Present != t.Version || into.ID == 0 {
			t.err = job.ErrEnded
			continue
		}
		t.taskDocument, t.into, t.content = d, into, content[t.DocumentID]
	}
	return nil
}

// show marks the documents processing and their jobs running. Documents that are ready stay
// ready.
func show(ctx context.Context, h *data.Handle, tasks []*task) error {
	jobs, documents, versions, attempts := columnsOfTasks(tasks)
	b := h.Batch()
	b.Exec(`
		SELECT FROM tenant.documents AS d
		WHERE d.document_id = ANY($1::uuid[]) ORDER BY d.document_id FOR NO KEY UPDATE OF d`, documents)
	b.Exec(`
		UPDATE tenant.documents AS d SET status = 'processing', updated_at = now()
		WHERE d.document_id = ANY($1::uuid[]) AND d.status IN ('pending', 'failed', 'needs_ocr')
			AND d.version = ($2::int[])[array_position($1::uuid[], d.document_id)]`, documents, versions)
	job.BeginAll(b, jobs, attempts)
	return b.Run(ctx)
}

// columnsOfTasks returns tasks by column, as statements take them.
func columnsOfTasks(tasks []*task) (jobs, documents []string, versions, attempts []int) {
	for _, t := range tasks {
		jobs, documents = append(jobs, t.JobID), append(documents, t.DocumentID)
		versions, attempts = append(versions, t.Version), append(attempts, t.Attempt)
	}
	return jobs, documents, versions, attempts
}

// watch is the alerts with which chunks are compared that are being stored.
type watch struct {
	by  *alert.Watcher
	set *alert.Set // nil for none
}

// swap replaces the documents' chunks by those of the new versions, in one transaction.
// Readers see either the old or the new chunks of a document. A task whose version is no
// longer the current one gets job.ErrEnded.
func swap(ctx context.Context, q *job.Queue, h *data.Handle, watch watch, tasks []*task) error {
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t *task) bool { return t.Status == DocumentReady })
	if len(tasks) == 0 {
		return nil
	}
	var current []*task
	err := h.Tx(ctx, func(tx *data.Tx) (err error) {
		if current, err = lockCurrent(ctx, tx, tasks); err != nil || len(current) == 0 {
			return err
		}
		var older []string
		for _, t := range current {
			if t.Version > 1 {
				older = append(older, t.DocumentID)
			}
		}
		if len(older) > 0 {
			if err := deleteChunks(ctx, tx, older); err != nil {
				return err
			}
		}
		found, err := copyChunks(ctx, tx, watch, current)
		if err != nil {
			return err
		}
		if err := storeTexts(ctx, tx, current, older); err != nil {
			return err
		}
		if err := watch.by.Store(ctx, tx, tasks[0].into, found); err != nil {
			return err
		}
		grown, err := storeCells(ctx, tx, current, older)
		if err != nil {
			return err
		}
		if err := makeReady(ctx, tx, current); err != nil {
			return err
		}
		if err := index.CountBytes(ctx, tx, tasks[0].IndexID, grown); err != nil {
			return err
		}
		if err := index.MaintainIfDue(ctx, q, tx, tasks[0].IndexID); err != nil {
			return err
		}
		return usage.Ingested(ctx, tx, tasks[0].into.Name, countsOf(current))
	})
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if !slices.Contains(current, t) {
			t.err = job.ErrEnded
		}
	}
	return nil
}

// countsOf returns what the tasks store.
func countsOf(tasks []*task) usage.Counts {
	counts := usage.Counts{Documents: int64(len(tasks))}
	for _, t := range tasks {
		counts.Chunks += int64(len(t.chunks))
		counts.Bytes += t.Bytes
	}
	return counts
}

// lockCurrent locks the rows of the tasks' documents, in the order of their ids, and
// returns the tasks whose versions are current. Every writer of chunks locks these rows
// first.
func lockCurrent(ctx context.Context, tx *data.Tx, tasks []*task) (current []*task, err error) {
	_, documents, _, _ := columnsOfTasks(tasks)
	locked, err := data.Select[struct {
		DocumentID string
		Version    int
		Status     string
	}](ctx, tx, `
		SELECT d.document_id::text, d.version, d.status FROM tenant.documents AS d
		WHERE d.document_id = ANY($1::uuid[]) ORDER BY d.document_id FOR NO KEY UPDATE OF d`, documents)
	open := map[string]int{} // versions by document id
	for _, d := range locked {
		if d.Status == DocumentProcessing || d.Status == DocumentPending {
			open[d.DocumentID] = d.Version
		}
	}
	for _, t := range tasks {
		if open[t.DocumentID] == t.Version {
			current = append(current, t)
		}
	}
	return current, err
}

// makeReady marks the locked documents ready. It is called after the chunks are written,
// because it updates the counts of the index, and other transactions wait for that row.
func makeReady(ctx context.Context, tx *data.Tx, tasks []*task) error {
	_, documents, _, _ := columnsOfTasks(tasks)
	counts, titles := make([]int, len(tasks)), make([]string, len(tasks))
	textBytes, textTypes, textStored := make([]int64, len(tasks)), make([]string, len(tasks)), make([]bool, len(tasks))
	languages := make([]*string, len(tasks))
	for i, t := range tasks {
		counts[i], titles[i] = len(t.chunks), t.Title
		textBytes[i], textTypes[i], textStored[i] = t.text.size, t.text.contentType, t.text.stored != ""
		if t.language != "" {
			languages[i] = &t.language
		}
	}
	// coalesce with one argument changes nothing: Citus 13.2 crashes on an assignment of a bare array element.
	_, err := tx.Exec(ctx, `
		UPDATE tenant.documents AS d SET status = 'ready', error = '', updated_at = now(),
			chunk_count = coalesce(($2::int[])[array_position($1::uuid[], d.document_id)]), title = coalesce(($3::text[])[array_position($1::uuid[], d.document_id)]),
			text_bytes = coalesce(($4::bigint[])[array_position($1::uuid[], d.document_id)]), text_type = coalesce(($5::text[])[array_position($1::uuid[], d.document_id)]),
			text_stored = coalesce(($6::boolean[])[array_position($1::uuid[], d.document_id)])
		WHERE d.document_id = ANY($1::uuid[])`, documents, counts, titles, textBytes, textTypes, textStored)
	if err != nil {
		return err
	}
	if err := storeNotices(ctx, tx, tasks); err != nil || !slices.ContainsFunc(tasks, func(t *task) bool { return t.language != "" }) {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE tenant.documents AS d SET language = coalesce(($2::text[])[array_position($1::uuid[], d.document_id)])
		WHERE d.document_id = ANY($1::uuid[])`, documents, languages)
	return err
}

// finish marks the jobs that have not ended succeeded, and removes the documents from the
// backlog.
func finish(ctx context.Context, h *data.Handle, b *backlog.Backlog, tasks []*task) error {
	jobs, _, _, attempts := columnsOfTasks(tasks)
	counts := make([]int, len(tasks))
	done := make([]backlog.Document, len(tasks))
	for i, t := range tasks {
		counts[i], done[i] = t.count(), t.Document
	}
	return h.Tx(ctx, func(tx *data.Tx) error {
		if err := job.SucceedAll(ctx, tx, jobs, counts, attempts); err != nil {
			return err
		}
		return b.Done(ctx, tx, done...)
	})
}

// count returns the number of the document's chunks.
func (t *task) count() int {
	if t.Status == DocumentReady {
		return t.ChunkCount
	}
	return len(t.chunks)
}

// recordFailure stores the public reason of a failed attempt. It postpones the document
// unless this was the last attempt.
func recordFailure(ctx context.Context, h *data.Handle, b *backlog.Backlog, t *task) error {
	status, last := DocumentPending, t.last()
	if !fault.Permanent(t.err) && h.Disk() != nil {
		last = false // it waits for space, however long that takes
	}
	switch {
	case last && errors.Is(t.err, errNeedsOCR):
		status = DocumentNeedsOCR
	case last:
		status = DocumentFailed
	}
	reason := fault.Public(t.err)
	return h.Tx(ctx, func(tx *data.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE tenant.documents SET status = $3, error = $4, updated_at = now()
			WHERE document_id = $1 AND version = $2 AND status IN ('pending', 'processing')`, t.DocumentID, t.Version, status, reason)
		if err != nil {
			return err
		}
		if err := job.FailAttempt(ctx, tx, t.JobID, t.Attempt, reason, last); err != nil {
			return err
		}
		if last {
			return b.Done(ctx, tx, t.Document)
		}
		return b.Postpone(ctx, tx, t.Document, job.Backoff(t.Attempt))
	})
}
