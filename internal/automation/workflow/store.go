package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

type row struct {
	WorkflowName string
	Version      int
	Definition   json.RawMessage
	CreatedAt    time.Time
}

const columns = `workflow_name, version, definition, created_at`

func (r row) workflow() (Workflow, error) {
	w := Workflow{Name: r.WorkflowName, Version: r.Version, CreatedAt: r.CreatedAt}
	return w, json.Unmarshal(r.Definition, &w.Definition)
}

// workflows is the table of workflows: the latest version of each.
var workflows = catalog.Table[row]{
	Noun: "workflow", Plural: "workflows", Most: maxWorkflows,
	Name:     func(r row) string { return r.WorkflowName },
	CountSQL: `SELECT count(DISTINCT workflow_name) FROM ragd_shared.workflows`,
	FindSQL:  `SELECT ` + columns + ` FROM ragd_shared.workflows WHERE workflow_name = $1 ORDER BY version DESC LIMIT 1`,
	ListSQL: `
		SELECT DISTINCT ON (workflow_name) ` + columns + ` FROM ragd_shared.workflows WHERE workflow_name > $1
		ORDER BY workflow_name, version DESC LIMIT $2`,
}

// version returns a version of a workflow, the latest for 0. ok is false if there is none.
func version(ctx context.Context, q data.Queryer, name string, number int) (w Workflow, ok bool, err error) {
	r, err := data.Get[row](ctx, q, `
		SELECT `+columns+` FROM ragd_shared.workflows WHERE workflow_name = $1 AND ($2 = 0 OR version = $2) ORDER BY version DESC LIMIT 1`, name, number)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, false, nil
	}
	if err == nil {
		w, err = r.workflow()
	}
	return w, err == nil, err
}

// numbers returns the versions of a workflow that exist, the newest first.
func numbers(ctx context.Context, q data.Queryer, name string) ([]int, error) {
	return data.Values[int](ctx, q, `SELECT version FROM ragd_shared.workflows WHERE workflow_name = $1 ORDER BY version DESC`, name)
}

// latest returns the latest versions of at most limit workflows whose names follow after, in the
// order of their names.
func latest(ctx context.Context, q data.Queryer, after string, limit int) ([]Workflow, error) {
	rows, err := workflows.List(ctx, q, after, limit)
	return catalog.Decoded(rows, err, row.workflow)
}

// insert stores the version after that of w.
func insert(ctx context.Context, h *data.Handle, w Workflow) (made Workflow, err error) {
	definition, err := json.Marshal(w.Definition)
	if err != nil {
		return made, err
	}
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if err := checkNext(ctx, tx, w); err != nil {
			return err
		}
		stored, err := data.Get[row](ctx, tx, `
			INSERT INTO ragd_shared.workflows (workflow_name, version, definition) VALUES ($1, $2, $3) RETURNING `+columns, w.Name, w.Version+1, definition)
		if err == nil {
			made, err = stored.workflow()
		}
		return err
	})
	return made, err
}

// checkNext locks the table and checks that the next version of w may be stored.
func checkNext(ctx context.Context, tx *data.Tx, w Workflow) error {
	if w.Version == 0 {
		if err := workflows.CheckFree(ctx, tx, w.Name); err != nil {
			return err
		}
		return workflows.CheckQuota(ctx, tx)
	}
	if err := workflows.Lock(ctx, tx); err != nil {
		return err
	}
	stored, err := numbers(ctx, tx, w.Name)
	switch {
	case err != nil:
		return err
	case len(stored) == 0 || stored[0] != w.Version:
		return workflows.Changed(w.Name)
	case len(stored) >= maxVersions:
		return fault.New(fault.Exhausted, "a workflow may have %d versions: delete one that is no longer needed", maxVersions)
	}
	return nil
}

// remove deletes a version of a workflow, or all for 0, and cancels the runs of what it deletes.
func remove(ctx context.Context, h *data.Handle, name string, number int) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		if _, err := tx.Exec(ctx, `
			WITH ended AS (
				UPDATE ragd_shared.workflow_runs SET status = 'cancelled', error = 'its workflow was deleted', error_kind = 'canceled', changes = changes + 1, ended_at = now(), updated_at = now()
				WHERE workflow_name = $1 AND ($2 = 0 OR version = $2) AND status IN ('queued', 'running', 'waiting') RETURNING run_id, changes
			)`+endSteps, name, number); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM ragd_shared.workflows WHERE workflow_name = $1 AND ($2 = 0 OR version = $2)`, name, number)
		return err
	})
}
