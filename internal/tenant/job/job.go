package job

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Job is asynchronous work of a tenant.
type Job struct {
	JobID      string
	Kind       Kind
	Status     Status
	IndexName  string
	DocumentID *string // nil for work on a whole index
	Done       int     // Done and Total are in Unit
	Total      int     // 0 until it is known
	Unit       string
	Attempts   int
	Error      string      // of the last attempt, or why the job was cancelled; safe to show to callers
	Extraction *Extraction // nil where nothing was extracted
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Extraction says what metadata extraction from a document cost over all attempts, and
// what failed in the last one.
type Extraction struct {
	Calls        int                 `json:"calls"`
	InputTokens  int                 `json:"inputTokens"`
	OutputTokens int                 `json:"outputTokens"`
	Failed       int                 `json:"failed"`
	Failures     []ExtractionFailure `json:"failures"` // only the first failures
}

// ExtractionFailure is a field that could not be extracted from a chunk.
type ExtractionFailure struct {
	Ordinal int    `json:"ordinal"` // of the chunk
	Field   string `json:"field"`
	Reason  string `json:"reason"` // safe to show to callers
}

// AddExtraction stores the extraction of an attempt in its job. Calls and tokens are
// added to those of earlier attempts.
func AddExtraction(ctx context.Context, on execer, jobID string, e Extraction) error {
	_, err := on.Exec(ctx, `
		UPDATE tenant.jobs AS j SET updated_at = now(), extraction = $2::jsonb || jsonb_build_object(
			'calls', coalesce((j.extraction->>'calls')::int, 0) + ($2::jsonb->>'calls')::int,
			'inputTokens', coalesce((j.extraction->>'inputTokens')::int, 0) + ($2::jsonb->>'inputTokens')::int,
			'outputTokens', coalesce((j.extraction->>'outputTokens')::int, 0) + ($2::jsonb->>'outputTokens')::int)
		WHERE j.job_id = $1`, jobID, e)
	return err
}

const columns = `j.job_id::text, j.kind, j.status, j.index_name, j.document_id::text, j.done, j.total, j.unit, j.attempts, j.error, j.extraction, j.created_at, j.updated_at`

// visibleSQL returns a condition on jobs AS j: their index is within the bounds of the request in
// the context, and the filter selects the job's document, or the job was started by a credential
// with this mandatory filter. A filter that is not empty hides all other jobs on whole indexes.
func visibleSQL(ctx context.Context, f filter.Filter, args *filter.Args) string {
	condition := "true"
	if names := access.BoundsOf(ctx).Indexes; names != nil {
		condition = `j.index_name = ANY(` + args.Add(names) + `)`
	}
	if f.IsZero() {
		return condition
	}
	return condition + ` AND (j.access = ` + args.Add(f.String()) + ` OR EXISTS (SELECT FROM tenant.documents AS d WHERE d.document_id = j.document_id AND ` + f.SQL("d.metadata", args) + `))`
}

// get returns a job. Errors: NotFound, also if the filter or the bounds of the request hide the
// job.
func get(ctx context.Context, q data.Queryer, jobID string, visible filter.Filter) (Job, error) {
	notFound := fault.New(fault.NotFound, "job %q not found", shorten(jobID))
	if !isID(jobID) {
		return Job{}, fault.New(fault.NotFound, "job %q not found: this is not the id of a job, which has 36 characters; list the jobs to see them", shorten(jobID))
	}
	args := filter.NewArgs(jobID)
	found, err := data.Get[Job](ctx, q, `
		SELECT `+columns+` FROM tenant.jobs AS j
		WHERE j.job_id = $1 AND `+visibleSQL(ctx, visible, args), args.Values()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return found, notFound
	}
	return found, err
}

// ByID returns the existing jobs among jobIDs, by id.
func ByID(ctx context.Context, q data.Queryer, jobIDs []string) (map[string]Job, error) {
	found, err := data.Select[Job](ctx, q, `SELECT `+columns+` FROM tenant.jobs AS j WHERE j.job_id = ANY($1::uuid[])`, jobIDs)
	jobs := make(map[string]Job, len(found))
	for _, j := range found {
		jobs[j.JobID] = j
	}
	return jobs, err
}

// position is the sort key of a list of jobs: newest first.
type position struct {
	CreatedAt time.Time `json:"t"`
	JobID     string    `json:"id"`
}

// list returns up to limit jobs after the position, or the newest ones if it is nil.
// An empty status means any.
func list(ctx context.Context, q data.Queryer, status Status, visible filter.Filter, after *position, limit int) ([]Job, error) {
	var afterTime *time.Time
	afterID := uuid.Nil.String()
	if after != nil {
		afterTime, afterID = &after.CreatedAt, after.JobID
	}
	args := filter.NewArgs(status, afterTime, afterID, limit)
	return data.Select[Job](ctx, q, `
		SELECT `+columns+` FROM tenant.jobs AS j
		WHERE ($1 = '' OR j.status = $1)
			AND ($2::timestamptz IS NULL OR (j.created_at, j.job_id) < ($2, $3::uuid))
			AND `+visibleSQL(ctx, visible, args)+`
		ORDER BY j.created_at DESC, j.job_id DESC LIMIT $4`, args.Values()...)
}

// isID reports whether s has the form of our ids, the 36 characters of a uuid. Go accepts
// other forms, some of which PostgreSQL rejects.
func isID(s string) bool { return len(s) == len(uuid.Nil.String()) && uuid.Validate(s) == nil }

// shorten shortens a caller's text for use in an error message.
func shorten(s string) string { return textlimit.Shorten(s, 200) }
