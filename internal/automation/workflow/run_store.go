package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

const runColumns = `run_id::text, workflow_name, version, status, subject, input, output, error, error_kind, created_at, started_at, ended_at, updated_at`

const stepColumns = `path, kind, status, attempts, input, output, message, schema, error, error_kind, started_at, wait_until, ended_at, version, change`

// visibleTo limits a statement on runs to those of one caller; "" is all.
const visibleTo = `($1 = '' OR subject = $1)`

// insertRun stores a queued run and its task, and deletes the oldest runs that have ended beyond
// the limits.
func insertRun(ctx context.Context, h *data.Handle, queue *job.Queue, r Run, access access.Delegation) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		if err := tx.Lock(ctx, "workflow_runs"); err != nil {
			return err
		}
		open, err := data.Value[int](ctx, tx, `SELECT count(*) FROM ragd_shared.workflow_runs WHERE status IN ('queued', 'running', 'waiting')`)
		if err != nil {
			return err
		}
		own, err := data.Value[int](ctx, tx, `SELECT count(*) FROM ragd_shared.workflow_runs WHERE status IN ('queued', 'running', 'waiting') AND subject = $1`, r.Subject)
		if err != nil {
			return err
		}
		if own >= maxOwnRuns {
			return fault.Retry(30*time.Second, "a caller may have %d runs that have not ended: wait, or cancel some", maxOwnRuns)
		}
		if open >= maxOpenRuns {
			return fault.Retry(30*time.Second, "a tenant may have %d runs that have not ended: wait, or cancel some", maxOpenRuns)
		}
		if _, err := tx.Exec(ctx, `
			DELETE FROM ragd_shared.workflow_runs WHERE status IN ('succeeded', 'failed', 'cancelled') AND (ended_at < $1 OR run_id IN (
				SELECT run_id FROM ragd_shared.workflow_runs WHERE status IN ('succeeded', 'failed', 'cancelled')
				ORDER BY created_at DESC, run_id DESC OFFSET $2))`, time.Now().Add(-keepRuns), maxRuns-1); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO ragd_shared.workflow_runs (run_id, workflow_name, version, status, subject, access, input) VALUES ($1, $2, $3, 'queued', $4, $5, $6)`,
			r.RunID, r.WorkflowName, r.Version, r.Subject, access, r.Input); err != nil {
			return err
		}
		return queue.Wake(ctx, tx, job.Workflow, r.RunID)
	})
}

// getRun returns a run that a subject started, or that anybody started for "". ok is false if there
// is none.
func getRun(ctx context.Context, q data.Queryer, subject, id string) (r Run, ok bool, err error) {
	r, err = data.Get[Run](ctx, q, `SELECT `+runColumns+` FROM ragd_shared.workflow_runs WHERE `+visibleTo+` AND run_id = $2`, subject, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, false, nil
	}
	return r, err == nil, err
}

// unchanged reports whether a run is queued or running and has no changes after the one that was
// seen.
func unchanged(ctx context.Context, q data.Queryer, id string, seen int64) (bool, error) {
	found, err := data.Values[bool](ctx, q, `SELECT changes <= $2 AND status IN ('queued', 'running') FROM ragd_shared.workflow_runs WHERE run_id = $1`, id, seen)
	return len(found) > 0 && found[0], err
}

// accessOf returns with whose rights a run runs.
func accessOf(ctx context.Context, q data.Queryer, id string) (d access.Delegation, err error) {
	raw, err := data.Value[json.RawMessage](ctx, q, `SELECT access FROM ragd_shared.workflow_runs WHERE run_id = $1`, id)
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(raw, &d)
}

// stepsAfter returns the steps of a run that have changed after a change, in the order of their
// last changes.
func stepsAfter(ctx context.Context, q data.Queryer, id string, change int64) ([]StepRun, error) {
	return data.Select[StepRun](ctx, q, `SELECT `+stepColumns+` FROM ragd_shared.workflow_steps WHERE run_id = $1 AND change > $2 ORDER BY change`, id, change)
}

// stepsOf returns the steps of a run in the order in which they began.
func stepsOf(ctx context.Context, q data.Queryer, id string) ([]StepRun, error) {
	return data.Select[StepRun](ctx, q, `SELECT `+stepColumns+` FROM ragd_shared.workflow_steps WHERE run_id = $1 ORDER BY started_at, path`, id)
}

type runPosition struct {
	CreatedAt time.Time `json:"t"`
	RunID     string    `json:"id"`
}

// listRuns returns up to limit runs after a position, the newest first. An empty workflow or status
// means any.
func listRuns(ctx context.Context, q data.Queryer, subject, name string, status Status, after *runPosition, limit int) ([]Run, error) {
	var at *time.Time
	id := "00000000-0000-0000-0000-000000000000"
	if after != nil {
		at, id = &after.CreatedAt, after.RunID
	}
	return data.Select[Run](ctx, q, `
		SELECT `+runColumns+` FROM ragd_shared.workflow_runs
		WHERE `+visibleTo+` AND ($2 = '' OR workflow_name = $2) AND ($3 = '' OR status = $3)
			AND ($4::timestamptz IS NULL OR (created_at, run_id) < ($4, $5::uuid))
		ORDER BY created_at DESC, run_id DESC LIMIT $6`, subject, name, status, at, id, limit)
}

// begin marks a run running. Errors: job.ErrEnded.
func begin(ctx context.Context, h *data.Handle, id string) error {
	n, err := h.Exec(ctx, `
		UPDATE ragd_shared.workflow_runs SET status = 'running', started_at = coalesce(started_at, now()), updated_at = now()
		WHERE run_id = $1 AND status IN ('queued', 'running', 'waiting')`, id)
	if err == nil && n == 0 {
		return job.ErrEnded
	}
	return err
}

// added returns how many bytes a change of the step adds to its run.
func (s StepRun) added() int {
	switch s.Status {
	case Succeeded:
		return len(s.Output)
	case Waiting:
		return len(s.Input) + len(s.Message) + len(s.Schema)
	}
	return len(s.Input)
}

// saveStep stores the state of a step of a running run. Errors: job.ErrEnded when the run is no
// longer running; Exhausted when it has too many bytes.
func saveStep(ctx context.Context, h *data.Handle, id string, s StepRun) error {
	size := s.added()
	total, err := data.Values[int64](ctx, h, `
		WITH changed AS (
			UPDATE ragd_shared.workflow_runs SET changes = changes + 1, bytes = bytes + $3, updated_at = now()
			WHERE run_id = $1 AND status = 'running' RETURNING changes, bytes
		), stored AS (
			INSERT INTO ragd_shared.workflow_steps AS s
				(run_id, path, kind, status, change, attempts, version, input, output, message, schema, error, error_kind, wait_until, ended_at)
			SELECT $1, $2, $4, $5::text, c.changes, $6, $7, $8, $9, $10, $11, $12, $13, $14, CASE WHEN $5::text IN ('succeeded', 'failed') THEN now() END FROM changed AS c
			ON CONFLICT (tenant_id, run_id, path) DO UPDATE SET
				status = excluded.status, change = excluded.change, attempts = excluded.attempts, version = excluded.version, input = excluded.input,
				output = excluded.output, error = excluded.error, error_kind = excluded.error_kind, wait_until = excluded.wait_until, ended_at = excluded.ended_at
		)
		SELECT bytes FROM changed`,
		id, s.Path, size, s.Kind, s.Status, s.Attempts, s.Version, s.Input, s.Output, s.Message, s.Schema, s.Error, s.ErrorKind, s.WaitUntil)
	switch {
	case err != nil:
		return err
	case len(total) == 0:
		return job.ErrEnded
	case total[0] > maxRunBytes:
		return errRunTooLarge
	}
	return nil
}

var errRunTooLarge = fault.New(fault.Exhausted, "the inputs and outputs of the run's steps are more than %d bytes: let steps return less", maxRunBytes)

// endSteps is the rest of a statement that ends runs, in WITH as ended: it marks their steps that have
// not ended cancelled.
const endSteps = `
	UPDATE ragd_shared.workflow_steps AS s SET status = 'cancelled', change = ended.changes, wait_until = NULL, ended_at = now() FROM ended
	WHERE s.run_id = ended.run_id AND s.status IN ('running', 'waiting')`

// endRun ends a running run.
func endRun(ctx context.Context, h *data.Handle, id string, status Status, output json.RawMessage, kind, reason string) error {
	_, err := h.Exec(ctx, `
		WITH ended AS (
			UPDATE ragd_shared.workflow_runs SET status = $2, output = $3, error_kind = $4, error = $5, changes = changes + 1, ended_at = now(), updated_at = now()
			WHERE run_id = $1 AND status IN ('queued', 'running', 'waiting') RETURNING run_id, changes
		)`+endSteps, id, status, output, kind, reason)
	return err
}

// rest marks a running run waiting, unless one of its steps has been resumed meanwhile. It returns
// when the wait of its first step ends.
func rest(ctx context.Context, h *data.Handle, id string) (until time.Time, waits bool, err error) {
	found, err := data.Values[*time.Time](ctx, h, `
		WITH next AS (SELECT min(wait_until) AS until FROM ragd_shared.workflow_steps WHERE run_id = $1 AND status = 'waiting')
		UPDATE ragd_shared.workflow_runs SET status = 'waiting', updated_at = now() FROM next
		WHERE run_id = $1 AND status = 'running' AND next.until IS NOT NULL RETURNING next.until`, id)
	if err != nil || len(found) == 0 {
		return until, false, err
	}
	return *found[0], true, nil
}

// answer stores the data with which a waiting step is resumed. ok is false if it waits no longer.
func answer(ctx context.Context, tx *data.Tx, id, path string, data json.RawMessage) (ok bool, err error) {
	n, err := tx.Exec(ctx, `
		WITH changed AS (
			UPDATE ragd_shared.workflow_runs SET status = CASE status WHEN 'waiting' THEN 'queued' ELSE status END, changes = changes + 1, bytes = bytes + $4, updated_at = now()
			WHERE run_id = $1 AND status IN ('queued', 'running', 'waiting') AND EXISTS (
				SELECT FROM ragd_shared.workflow_steps WHERE run_id = $1 AND path = $2 AND status = 'waiting')
			RETURNING changes
		)
		UPDATE ragd_shared.workflow_steps AS s SET status = 'succeeded', output = $3, change = c.changes, ended_at = now() FROM changed AS c
		WHERE s.run_id = $1 AND s.path = $2 AND s.status = 'waiting'`, id, path, data, len(data))
	return n == 1, err
}

// openRuns returns which of the runs exist and have not ended.
func openRuns(ctx context.Context, h *data.Handle, ids []string) (map[string]bool, error) {
	found, err := data.Values[string](ctx, h, `
		SELECT run_id::text FROM ragd_shared.workflow_runs WHERE run_id = ANY($1::uuid[]) AND status NOT IN ('succeeded', 'failed', 'cancelled')`, ids)
	open := map[string]bool{}
	for _, id := range found {
		open[id] = true
	}
	return open, err
}

// waitingRun returns the newest run of a workflow with an input that a subject started and that
// waits. ok is false if there is none.
func waitingRun(ctx context.Context, q data.Queryer, subject, name string, input json.RawMessage) (id string, ok bool, err error) {
	found, err := data.Values[string](ctx, q, `
		SELECT run_id::text FROM ragd_shared.workflow_runs WHERE subject = $1 AND workflow_name = $2 AND status = 'waiting' AND input::text = $3
		ORDER BY created_at DESC LIMIT 1`, subject, name, string(input))
	if err != nil || len(found) == 0 {
		return "", false, err
	}
	return found[0], true, nil
}
