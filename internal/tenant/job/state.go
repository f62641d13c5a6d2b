package job

import (
	"context"
	"errors"

	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Status is the state of a job. Only this file has SQL that names states.
type Status string

// The states of a job. The constraint on tenant.jobs.status lists the same.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Ended reports whether the state is final.
func (s Status) Ended() bool { return s == Succeeded || s == Failed || s == Cancelled }

// ErrEnded is returned for a job that is no longer running: it was cancelled, replaced by a
// newer one, or its index or document was deleted.
var ErrEnded = errors.New("the job has ended")

// execer runs one statement: a tenant's Handle, Tx or Session.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
}

// Start describes a job to queue.
type Start struct {
	JobID     string
	Kind      Kind
	IndexName string
	Unit      string // of its progress, in the plural
	// Access is the mandatory filter of the credential that starts the job, if other
	// credentials with the same filter may see it; the zero Filter shows it only to
	// credentials without one.
	Access filter.Filter
}

// Insert stores a queued job on an index. A job that exists stays as it is.
func Insert(ctx context.Context, on execer, s Start) error {
	_, err := on.Exec(ctx, `
		INSERT INTO tenant.jobs (job_id, kind, status, index_name, unit, access) VALUES ($1, $2, 'queued', $3, $4, $5)
		ON CONFLICT (job_id) DO NOTHING`, s.JobID, s.Kind, s.IndexName, s.Unit, s.Access.String())
	return err
}

// IngestUnit is the unit of the progress of ingest jobs.
const IngestUnit = "chunks"

// InsertIngest stores queued ingest jobs for documents of one index; job i is for
// document i.
func InsertIngest(ctx context.Context, on execer, indexName string, jobIDs, documentIDs []string) error {
	_, err := on.Exec(ctx, `
		INSERT INTO tenant.jobs (job_id, kind, status, index_name, document_id, unit)
		SELECT given.job_id, $3, 'queued', $4, given.document_id, $5
		FROM unnest($1::uuid[], $2::uuid[]) AS given (job_id, document_id)`, jobIDs, documentIDs, Ingest, indexName, IngestUnit)
	return err
}

// Begin marks a job running and counts an attempt. It counts none if the job was running
// already, which means that it was taken over from a dead instance. Errors: ErrEnded.
func Begin(ctx context.Context, on execer, jobID string) error {
	return unlessEnded(on.Exec(ctx, `
		UPDATE tenant.jobs SET status = 'running', attempts = attempts + (status = 'queued')::int, updated_at = now()
		WHERE job_id = $1 AND status IN ('queued', 'running')`, jobID))
}

// BeginAll adds to a batch the statement that marks jobs running; job i is in attempt
// attempts[i]. Jobs that have ended stay as they are.
//
// This and the other statements on several jobs find rows by = ANY($1) alone and take
// the new values from arrays, by the id's position in $1. PostgreSQL then always looks rows
// up by key, even with wrong statistics of the table; for a join it might choose a plan
// that compares each row with each id.
func BeginAll(b *data.Batch, jobIDs []string, attempts []int) {
	// coalesce with one argument changes nothing: Citus 13.2 crashes on an assignment of a bare array element.
	b.Exec(`
		UPDATE tenant.jobs AS j SET status = 'running', attempts = coalesce(($2::int[])[array_position($1::uuid[], j.job_id)]), updated_at = now()
		WHERE j.job_id = ANY($1::uuid[]) AND j.status IN ('queued', 'running')`, jobIDs, attempts)
}

// Progress marks a job running and stores how much of it is done. Errors: ErrEnded.
func Progress(ctx context.Context, on execer, jobID string, done, total int) error {
	return unlessEnded(on.Exec(ctx, `
		UPDATE tenant.jobs SET status = 'running', done = $2, total = $3, updated_at = now()
		WHERE job_id = $1 AND status IN ('queued', 'running')`, jobID, done, total))
}

// Advance adds n to what is done of a running job, up to its total. Errors: ErrEnded.
func Advance(ctx context.Context, on execer, jobID string, n int) error {
	return unlessEnded(on.Exec(ctx, `
		UPDATE tenant.jobs SET done = least(done + $2, total), updated_at = now()
		WHERE job_id = $1 AND status = 'running'`, jobID, n))
}

// Succeed marks a running job succeeded and sets its progress to its total.
func Succeed(ctx context.Context, on execer, jobID string) error {
	_, err := on.Exec(ctx, `
		UPDATE tenant.jobs SET status = 'succeeded', error = '', done = total, updated_at = now()
		WHERE job_id = $1 AND status = 'running'`, jobID)
	return err
}

// SucceedAll marks jobs succeeded; the progress and total of job i become totals[i], its
// number of attempts attempts[i]. Jobs that have ended stay as they are.
func SucceedAll(ctx context.Context, on execer, jobIDs []string, totals, attempts []int) error {
	// coalesce as in BeginAll.
	_, err := on.Exec(ctx, `
		UPDATE tenant.jobs AS j SET status = 'succeeded', error = '', updated_at = now(), attempts = coalesce(($3::int[])[array_position($1::uuid[], j.job_id)]),
			done = coalesce(($2::int[])[array_position($1::uuid[], j.job_id)]), total = coalesce(($2::int[])[array_position($1::uuid[], j.job_id)])
		WHERE j.job_id = ANY($1::uuid[]) AND j.status IN ('queued', 'running')`, jobIDs, totals, attempts)
	return err
}

// FailAttempt stores the public reason of a failed attempt, which is counted from 1; 0
// for one that Begin has counted. After the last attempt it marks the job failed, else
// queued.
func FailAttempt(ctx context.Context, on execer, jobID string, attempt int, reason string, last bool) error {
	_, err := on.Exec(ctx, `
		UPDATE tenant.jobs SET status = CASE WHEN $3 THEN 'failed' ELSE 'queued' END, attempts = greatest(attempts, $4), error = $2, updated_at = now()
		WHERE job_id = $1 AND status IN ('queued', 'running')`, jobID, reason, last, attempt)
	return err
}

// CancelledOnRequest is the error of jobs that a caller cancelled.
const CancelledOnRequest = "cancelled on request"

// Cancel marks a job cancelled, unless it has ended.
func Cancel(ctx context.Context, on execer, jobID, reason string) error {
	_, err := on.Exec(ctx, `
		UPDATE tenant.jobs SET status = 'cancelled', error = $2, updated_at = now()
		WHERE job_id = $1 AND status IN ('queued', 'running')`, jobID, reason)
	return err
}

// CancelDocuments cancels the jobs of documents and returns how many there were.
func CancelDocuments(ctx context.Context, on execer, documentIDs []string, reason string) (int64, error) {
	return on.Exec(ctx, `
		UPDATE tenant.jobs SET status = 'cancelled', error = $2, updated_at = now()
		WHERE document_id = ANY($1::uuid[]) AND status IN ('queued', 'running')`, documentIDs, reason)
}

// CancelIndex cancels all jobs of an index and returns the ids of the documents that
// some of them were for.
func CancelIndex(ctx context.Context, q data.Queryer, indexName, reason string) ([]string, error) {
	documents, err := data.Values[*string](ctx, q, `
		UPDATE tenant.jobs AS j SET status = 'cancelled', error = $2, updated_at = now()
		WHERE j.index_name = $1 AND j.status IN ('queued', 'running')
		RETURNING j.document_id::text`, indexName, reason)
	var ids []string
	for _, id := range documents {
		if id != nil { // nil for a job on the whole index
			ids = append(ids, *id)
		}
	}
	return ids, err
}

// CancelOrphans cancels the jobs of an index whose documents no longer exist, and returns
// the ids of these documents.
func CancelOrphans(ctx context.Context, q data.Queryer, indexName, reason string) ([]string, error) {
	return data.Values[string](ctx, q, `
		UPDATE tenant.jobs AS j SET status = 'cancelled', error = $2, updated_at = now()
		WHERE j.index_name = $1 AND j.document_id IS NOT NULL AND j.status IN ('queued', 'running')
			AND NOT EXISTS (SELECT FROM tenant.documents AS d WHERE d.document_id = j.document_id)
		RETURNING j.document_id::text`, indexName, reason)
}

// unlessEnded returns ErrEnded for a statement that found no job in the state it needs.
func unlessEnded(n int64, err error) error {
	if err == nil && n == 0 {
		return ErrEnded
	}
	return err
}
