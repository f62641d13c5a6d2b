package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

type evaluationRow struct {
	EvaluationID  string
	SetName       string
	IndexName     string
	Access        string
	Settings      Settings
	Delegation    *access.Delegation
	QuestionCount int
	JobID         string
	Estimates     *[]measure.Estimate
	TuningOutcome *TuningOutcome
	Usage         AnswerUsage
	Unanswerable  int
	CreatedAt     time.Time
}

func (r evaluationRow) evaluation() Evaluation {
	e := Evaluation{
		ID: r.EvaluationID, SetName: r.SetName, IndexName: r.IndexName, Settings: r.Settings, Questions: r.QuestionCount,
		Unanswerable: r.Unanswerable, Outcome: r.TuningOutcome, Usage: r.Usage, JobID: r.JobID, CreatedAt: r.CreatedAt, access: r.Access, delegation: r.Delegation,
	}
	if r.Estimates != nil {
		e.Estimates, e.ended = *r.Estimates, true
	}
	return e
}

const (
	evaluationColumns = `e.evaluation_id::text, e.set_name, e.index_name, e.access, e.settings, e.delegation, e.question_count, e.job_id::text AS job_id, e.estimates, e.tuning_outcome, e.usage, e.unanswerable, e.created_at`
	// evaluationVisible is the condition on an evaluation e that a caller with the access $1
	// may see it. An agent may have read all indexes to which the caller was bound that started it.
	evaluationVisible = `($1::jsonb->>'filter' IN ('{}', e.access)
		AND (jsonb_typeof($1::jsonb->'indexes') = 'null' OR $1::jsonb->'indexes' ? e.index_name
			AND (e.delegation IS NULL OR jsonb_typeof(e.delegation->'bounds'->'indexes') = 'array' AND e.delegation->'bounds'->'indexes' <@ ($1::jsonb->'indexes'))
			AND EXISTS (SELECT FROM ragd_shared.question_sets AS s WHERE s.set_name = e.set_name AND $1::jsonb->'indexes' ? s.index_name)))`
)

// getEvaluation returns an evaluation that a caller with the access may see, with its job.
// Errors: NotFound.
func getEvaluation(ctx context.Context, q data.Queryer, may rights, id string) (Evaluation, error) {
	if len(id) != len(uuid.Nil.String()) || uuid.Validate(id) != nil {
		return Evaluation{}, fault.New(fault.NotFound, "evaluation %q not found: this is not the id of an evaluation, which has 36 characters; list the evaluations to see them", textlimit.Shorten(id, 200))
	}
	row, err := data.Get[evaluationRow](ctx, q, `
		SELECT `+evaluationColumns+` FROM ragd_shared.evaluations AS e WHERE `+evaluationVisible+` AND e.evaluation_id = $2::uuid`, may, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Evaluation{}, fault.New(fault.NotFound, "evaluation %q not found", id)
	}
	if err != nil {
		return Evaluation{}, err
	}
	with, err := withJobs(ctx, q, []evaluationRow{row})
	if err != nil {
		return Evaluation{}, err
	}
	return with[0], nil
}

// withJobs returns evaluations with their jobs.
func withJobs(ctx context.Context, q data.Queryer, rows []evaluationRow) ([]Evaluation, error) {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.JobID
	}
	jobs, err := job.ByID(ctx, q, ids)
	evaluations := make([]Evaluation, len(rows))
	for i, row := range rows {
		evaluations[i] = row.evaluation()
		if j, ok := jobs[row.JobID]; ok {
			evaluations[i].Job = &j
		}
	}
	return evaluations, err
}

// listEvaluations returns up to limit evaluations after the position, or the newest ones if it
// is nil. An empty set name means any.
func listEvaluations(ctx context.Context, q data.Queryer, may rights, setName string, after *position, limit int) ([]Evaluation, error) {
	var afterTime *time.Time
	afterID := uuid.Nil.String()
	if after != nil {
		afterTime, afterID = &after.CreatedAt, after.ID
	}
	rows, err := data.Select[evaluationRow](ctx, q, `
		SELECT `+evaluationColumns+` FROM ragd_shared.evaluations AS e
		WHERE `+evaluationVisible+` AND ($2 = '' OR e.set_name = $2)
			AND ($3::timestamptz IS NULL OR (e.created_at, e.evaluation_id) < ($3, $4::uuid))
		ORDER BY e.created_at DESC, e.evaluation_id DESC LIMIT $5`, may, setName, afterTime, afterID, limit)
	if err != nil {
		return nil, err
	}
	return withJobs(ctx, q, rows)
}

// insertEvaluation stores a new evaluation, and deletes the oldest ones that have ended beyond
// the limit. Errors: Exhausted if none has ended.
func insertEvaluation(ctx context.Context, tx *data.Tx, e Evaluation) error {
	if err := sets.Lock(ctx, tx); err != nil {
		return err
	}
	// In two statements: Citus deletes nothing by what is in a table on another server.
	open, err := data.Values[string](ctx, tx, `SELECT j.job_id::text FROM tenant.jobs AS j WHERE j.kind = $1 AND j.status IN ('queued', 'running')`, job.Evaluate)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		DELETE FROM ragd_shared.evaluations WHERE evaluation_id IN (
			SELECT e.evaluation_id FROM ragd_shared.evaluations AS e WHERE e.job_id <> ALL(coalesce($2::text[]::uuid[], '{}'))
			ORDER BY e.created_at DESC, e.evaluation_id DESC OFFSET $1)`, maxEvaluations-1, open)
	if err != nil {
		return err
	}
	have, err := data.Value[int](ctx, tx, `SELECT count(*) FROM ragd_shared.evaluations`)
	if err != nil {
		return err
	}
	if have >= maxEvaluations {
		return fault.New(fault.Exhausted, "a tenant may have %d evaluations, some of which are still waiting: wait for them, or cancel or delete some", maxEvaluations)
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO ragd_shared.evaluations (evaluation_id, set_name, index_name, access, settings, question_count, job_id, delegation)
		SELECT $1::uuid, s.set_name, $3, $4, $5, $6, $7::uuid, $8 FROM ragd_shared.question_sets AS s WHERE s.set_name = $2`,
		e.ID, e.SetName, e.IndexName, e.access, e.Settings, e.Questions, e.JobID, e.delegation)
	if err == nil && n == 0 {
		err = fault.New(fault.NotFound, "question set %q was deleted", e.SetName)
	}
	return err
}

// byJob returns the evaluation of a job, or job.ErrEnded if it was deleted or has a newer job.
func byJob(ctx context.Context, q data.Queryer, jobID string) (Evaluation, error) {
	row, err := data.Get[evaluationRow](ctx, q, `SELECT `+evaluationColumns+` FROM ragd_shared.evaluations AS e WHERE e.job_id = $1::uuid`, jobID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Evaluation{}, job.ErrEnded
	}
	return row.evaluation(), err
}

// progress is how far an evaluation is.
type progress struct {
	Batches int    // stored
	Done    int    // questions with results
	LastID  string // of the last of them
}

func progressOf(ctx context.Context, q data.Queryer, evaluationID string) (progress, error) {
	return data.Get[progress](ctx, q, `
		SELECT coalesce(max(r.batch), 0) AS batches, coalesce(sum(r.result_count), 0)::int AS done,
			coalesce((SELECT l.results->-1->>'id' FROM ragd_shared.evaluation_results AS l WHERE l.evaluation_id = $1::uuid ORDER BY l.batch DESC LIMIT 1), '') AS last_id
		FROM ragd_shared.evaluation_results AS r WHERE r.evaluation_id = $1::uuid`, evaluationID)
}

// insertResults stores a batch of results, counted from 1. Errors: job.ErrEnded for an
// evaluation that was deleted.
func insertResults(ctx context.Context, tx *data.Tx, evaluationID string, batch int, results []Result) error {
	encoded, err := json.Marshal(results)
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO ragd_shared.evaluation_results (evaluation_id, batch, result_count, results)
		SELECT e.evaluation_id, $2, $3, $4::jsonb FROM ragd_shared.evaluations AS e WHERE e.evaluation_id = $1::uuid`,
		evaluationID, batch, len(results), string(encoded))
	if err == nil && n == 0 {
		err = job.ErrEnded
	}
	return err
}

// resultsAfter returns up to limit results after a position.
func resultsAfter(ctx context.Context, q data.Queryer, evaluationID string, after resultPosition, limit int) ([]resultRow, error) {
	// A batch has at least one result, so that so many batches are enough.
	rows, err := data.Select[struct {
		Batch   int
		Results []Result
	}](ctx, q, `
		SELECT r.batch, r.results FROM ragd_shared.evaluation_results AS r
		WHERE r.evaluation_id = $1::uuid AND r.batch >= $2 AND r.batch <= $2 + $3 ORDER BY r.batch`, evaluationID, after.Batch, limit)
	var results []resultRow
	for _, row := range rows {
		for i, r := range row.Results {
			at := resultPosition{row.Batch, i}
			if (at.Batch > after.Batch || at.Index > after.Index) && len(results) < limit {
				results = append(results, resultRow{r, at})
			}
		}
	}
	return results, err
}

// allResults returns the results of an evaluation in the order of the questions' ids, with their
// measures alone: texts of answers and hits are left out, which would take much memory.
func allResults(ctx context.Context, q data.Queryer, evaluationID string) ([]Result, error) {
	batches, err := data.Values[[]Result](ctx, q, `
		SELECT (
			SELECT jsonb_agg(n.result - 'hits' - 'missing' #- '{answer,text}' #- '{answer,verdict}' ORDER BY n.ordinality)
			FROM jsonb_array_elements(r.results) WITH ORDINALITY AS n (result, ordinality))
		FROM ragd_shared.evaluation_results AS r WHERE r.evaluation_id = $1::uuid ORDER BY r.batch`, evaluationID)
	var results []Result
	for _, batch := range batches {
		results = append(results, batch...)
	}
	return results, err
}

// addUsage adds what a batch of answers has taken to an evaluation.
func addUsage(ctx context.Context, tx *data.Tx, evaluationID string, more AnswerUsage) error {
	_, err := tx.Exec(ctx, `
		UPDATE ragd_shared.evaluations AS e SET usage = (
			SELECT jsonb_object_agg(n.key, n.value::numeric + coalesce((e.usage->>n.key)::numeric, 0)) FROM jsonb_each_text($2::jsonb) AS n)
		WHERE e.evaluation_id = $1::uuid`, evaluationID, more)
	return err
}

// endEvaluation stores the measures of an evaluation, ends its job, and deletes the results of
// the oldest evaluations beyond the limit.
func endEvaluation(ctx context.Context, tx *data.Tx, e Evaluation) error {
	if e.Estimates == nil {
		e.Estimates = []measure.Estimate{}
	}
	_, err := tx.Exec(ctx, `UPDATE ragd_shared.evaluations SET estimates = $2, unanswerable = $3 WHERE evaluation_id = $1::uuid`, e.ID, e.Estimates, e.Unanswerable)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		DELETE FROM ragd_shared.evaluation_results WHERE evaluation_id IN (
			SELECT n.evaluation_id FROM (
				SELECT e.evaluation_id, e.estimates, sum(e.question_count * CASE WHEN e.delegation IS NULL THEN 1 ELSE $3 END) OVER (ORDER BY e.created_at DESC, e.evaluation_id DESC) AS questions
				FROM ragd_shared.evaluations AS e) AS n
			WHERE n.questions > $1 AND n.estimates IS NOT NULL AND n.evaluation_id <> $2::uuid)`, maxResults, e.ID, answerWeight)
	if err != nil {
		return err
	}
	return job.Succeed(ctx, tx, e.JobID)
}
