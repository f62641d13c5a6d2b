package plan

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Control runs statements on the control schema with the rights of the service, such as a pool.
type Control interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// store reads and writes plans in the control schema.
type store struct{ control Control }

const columns = `p.plan_name AS name, p.display_name, p.settings, p.without, p.models, p.created_at, p.updated_at,
	(SELECT count(*) FROM ragd.tenant_plans AS has WHERE has.plan_name = p.plan_name) AS tenants`

// insert stores a new plan. A lock makes the limit hold for concurrent calls.
func (s store) insert(ctx context.Context, p Plan) (made Plan, err error) {
	err = pgx.BeginFunc(ctx, s.control, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('ragd plans', 0))`); err != nil {
			return err
		}
		var has int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM ragd.plans`).Scan(&has); err != nil {
			return err
		}
		if has >= MaxPlans {
			return fault.New(fault.Exhausted, "a service may have %d plans: delete one", MaxPlans)
		}
		rows, _ := tx.Query(ctx, `
			INSERT INTO ragd.plans AS p (plan_name, display_name, settings, without, models)
			VALUES ($1, $2, coalesce($3::jsonb, '{}'), coalesce($4::text[], '{}'), coalesce($5::text[], '{}')) ON CONFLICT DO NOTHING RETURNING `+columns,
			p.Name, p.DisplayName, object(p.Settings), p.Without, p.Models)
		made, err = pgx.CollectOneRow(rows, pgx.RowToStructByName[Plan])
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.Exists, "plan %q exists already", p.Name)
		}
		return err
	})
	return made, postgres.Fault(err)
}

func (s store) find(ctx context.Context, name string) (Plan, error) {
	rows, _ := s.control.Query(ctx, `SELECT `+columns+` FROM ragd.plans AS p WHERE p.plan_name = $1`, name)
	p, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[Plan])
	if errors.Is(err, pgx.ErrNoRows) {
		return p, notFound(name)
	}
	return p, postgres.Fault(err)
}

func notFound(name string) error {
	return fault.New(fault.NotFound, "plan %q not found: `ragd plan list` names the plans", textlimit.Shorten(name, 40))
}

// list returns up to most plans with names after one.
func (s store) list(ctx context.Context, after string, most int) ([]Plan, error) {
	rows, _ := s.control.Query(ctx, `SELECT `+columns+` FROM ragd.plans AS p WHERE p.plan_name > $1 ORDER BY p.plan_name LIMIT $2`, after, most)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Plan])
	return found, postgres.Fault(err)
}

func (s store) update(ctx context.Context, name string, change Change) error {
	var features Features
	if change.Features != nil {
		features = *change.Features
	}
	tag, err := s.control.Exec(ctx, `
		UPDATE ragd.plans SET
			display_name = coalesce($2, display_name),
			settings = coalesce($3::jsonb, settings),
			without = CASE WHEN $4 THEN coalesce($5::text[], '{}') ELSE without END,
			models = CASE WHEN $4 THEN coalesce($6::text[], '{}') ELSE models END,
			updated_at = now()
		WHERE plan_name = $1`, name, change.DisplayName, object(change.Settings), change.Features != nil, features.Without, features.Models)
	if err == nil && tag.RowsAffected() == 0 {
		return notFound(name)
	}
	return postgres.Fault(err)
}

func (s store) delete(ctx context.Context, name string) error {
	tag, err := s.control.Exec(ctx, `DELETE FROM ragd.plans WHERE plan_name = $1`, name)
	switch {
	case postgres.Code(err) == postgres.CodeForeignKeyViolation:
		return fault.New(fault.Precondition, "plan %q has tenants: give them another plan first, `ragd tenant list --plan %[1]s` names them, and with --state deleted those that can be restored", name)
	case err == nil && tag.RowsAffected() == 0:
		return notFound(name)
	}
	return postgres.Fault(err)
}

// object returns an untyped nil for a nil map: SQL NULL, where the map would be JSON null.
func object(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}
