package move

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Phase is how far a move is.
type Phase string

// The phases of a move. The tenant lives in its new database from Switching on.
const (
	Copying   Phase = "copying"
	Switching Phase = "switching"
	Dropping  Phase = "dropping"
	Done      Phase = "done"
	Failed    Phase = "failed"
)

// Move is the move of a tenant to another database.
type Move struct {
	ID       string
	TenantID tenant.ID
	From     string // empty: the first database
	To       string // empty: the first database
	Phase    Phase
	Step     string // what is done now, for people
	Attempts int
	Error    string // of the last attempt
	Rows     int64  // copied
	Bytes    int64  // copied
	// Pause is how long writes were stopped.
	Pause time.Duration
	// KeepUntil is when the old copy is dropped; nil before the switch.
	KeepUntil *time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
}

const columns = `m.move_id::text AS id, m.tenant_id, m.from_database AS "from", m.to_database AS "to", m.phase, m.step, m.attempts, m.error, m.rows, m.bytes,
	m.pause_ms * interval '1 ms' AS pause, m.keep_until, m.created_at, m.updated_at`

func one(found []Move, err error) (Move, error) {
	if err != nil {
		return Move{}, postgres.Fault(err)
	}
	if len(found) == 0 {
		return Move{}, fault.New(fault.NotFound, "move not found")
	}
	return found[0], nil
}

func byID(ctx context.Context, on queryer, id string) (Move, error) {
	return one(collect[Move](ctx, on, `SELECT `+columns+` FROM ragd.moves AS m WHERE m.move_id = $1::uuid`, id))
}

// unfinished returns the move of a tenant that has not ended. Errors: NotFound.
func unfinished(ctx context.Context, on queryer, id tenant.ID) (Move, error) {
	return one(collect[Move](ctx, on, `SELECT `+columns+` FROM ragd.moves AS m WHERE m.tenant_id = $1 AND m.phase IN ('copying', 'switching', 'dropping')`, id))
}

// notEnded returns the moves that have not ended, and those that have failed and whose copy was not removed.
func notEnded(ctx context.Context, on queryer) ([]Move, error) {
	return collect[Move](ctx, on, `SELECT `+columns+` FROM ragd.moves AS m WHERE m.phase NOT IN ('done', 'failed') OR m.phase = 'failed' AND m.step <> ''`)
}

// insert adds a move. Errors: Precondition if another has not ended.
func insert(ctx context.Context, tx pgx.Tx, id string, tenantID tenant.ID, from, to string) (Move, error) {
	if _, err := unfinished(ctx, tx, tenantID); err == nil {
		return Move{}, fault.New(fault.Precondition, "the tenant %q is being moved already", tenantID)
	} else if fault.KindOf(err) != fault.NotFound {
		return Move{}, err
	}
	m, err := one(collect[Move](ctx, tx, `
		INSERT INTO ragd.moves AS m (move_id, tenant_id, from_database, to_database, phase) VALUES ($1::uuid, $2, $3, $4, 'copying') RETURNING `+columns, id, tenantID, from, to))
	if fault.KindOf(err) == fault.Exists {
		return m, fault.New(fault.Precondition, "the tenant %q is being moved already", tenantID)
	}
	return m, err
}

// placeOf returns the name of the database in which a tenant lives; empty for the first one.
func placeOf(ctx context.Context, on queryer, id tenant.ID) (string, error) {
	found, err := collectValues[string](ctx, on, `SELECT t.database_name FROM ragd.tenants AS t WHERE t.tenant_id = $1 AND t.status = 'ready'`, id)
	if err != nil {
		return "", postgres.Fault(err)
	}
	if len(found) == 0 {
		return "", fault.New(fault.NotFound, "tenant %q not found", id)
	}
	return found[0], nil
}

// checkPlace returns an error unless a tenant lives in a database. on has the lock of the tenant, so that it stays so.
func checkPlace(ctx context.Context, on queryer, id tenant.ID, name string) error {
	place, err := placeOf(ctx, on, id)
	if err == nil && place != name {
		err = fault.New(fault.Precondition, "the tenant %q lives in another database than its move says", id)
	}
	return err
}

// execer runs statements: a connection or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func update(ctx context.Context, on execer, m Move, set string, args ...any) error {
	_, err := on.Exec(ctx, `UPDATE ragd.moves AS m SET updated_at = now(), `+set+` WHERE m.move_id = $1::uuid`, append([]any{m.ID}, args...)...)
	return postgres.Fault(err)
}

func begin(ctx context.Context, on execer, m Move) error {
	return update(ctx, on, m, `attempts = m.attempts + 1, rows = 0, bytes = 0`)
}

func progress(ctx context.Context, on execer, m Move, step string, rows, bytes int64) error {
	return update(ctx, on, m, `step = $2, rows = $3, bytes = $4`, step, rows, bytes)
}

func note(ctx context.Context, on execer, m Move, step, problem string) error {
	return update(ctx, on, m, `step = $2, error = $3`, step, problem)
}

func fail(ctx context.Context, on execer, m Move, problem string) error {
	return update(ctx, on, m, `phase = 'failed', step = 'removing the copy', error = $2`, problem)
}

func cleaned(ctx context.Context, on execer, m Move) error { return update(ctx, on, m, `step = ''`) }

func enter(ctx context.Context, on execer, m Move, phase Phase) error {
	return update(ctx, on, m, `phase = $2, step = ''`, phase)
}

// beginner begins transactions: a pool or a connection.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// switched says in the first database that the tenant lives in its new database from now on.
func switched(ctx context.Context, on beginner, m Move, pause, keep time.Duration) error {
	return postgres.Fault(pgx.BeginFunc(ctx, on, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE ragd.tenants SET database_name = $3 WHERE tenant_id = $1 AND database_name = $2 AND status = 'ready'`, m.TenantID, m.From, m.To)
		if err != nil {
			return err
		}
		if tag.RowsAffected() != 1 {
			return errors.New("the tenant was changed while it was moved")
		}
		return update(ctx, tx, m, `phase = 'switching', step = '', error = '', pause_ms = $2, keep_until = now() + $3::interval`, pause.Milliseconds(), keep)
	}))
}

// Get returns a move. Errors: Denied unless the caller is the operator; NotFound.
func (s *Service) Get(ctx context.Context, id string) (Move, error) {
	if err := access.RequireOperator(ctx); err != nil {
		return Move{}, err
	}
	if uuid.Validate(id) != nil {
		return Move{}, fault.New(fault.NotFound, "move %q not found", id)
	}
	m, err := byID(ctx, s.config.Control, id)
	if fault.KindOf(err) == fault.NotFound {
		return m, fault.New(fault.NotFound, "move %q not found", id)
	}
	return m, err
}

// position is the sort key of a list of moves: newest first.
type position struct {
	CreatedAt time.Time `json:"t"`
	ID        string    `json:"id"`
}

// List returns a page of the moves, newest first, and the token of the next page; those of one tenant if it is given.
// Errors: Denied unless the caller is the operator.
func (s *Service) List(ctx context.Context, of string, pageSize int32, pageToken string) ([]Move, string, error) {
	if err := access.RequireOperator(ctx); err != nil {
		return nil, "", err
	}
	key := func(m Move) position { return position{m.CreatedAt, m.ID} }
	return pagination.List(access.Pages(ctx, "moves "+of), pageSize, pageToken, position{}, key, func(after position, most int) ([]Move, error) {
		var from *time.Time
		if after.ID != "" {
			from = &after.CreatedAt
		}
		found, err := collect[Move](ctx, s.config.Control, `
			SELECT `+columns+` FROM ragd.moves AS m
			WHERE ($1 = '' OR m.tenant_id = $1) AND ($2::timestamptz IS NULL OR (m.created_at, m.move_id) < ($2, nullif($3, '')::uuid))
			ORDER BY m.created_at DESC, m.move_id DESC LIMIT $4`, of, from, after.ID, most)
		return found, postgres.Fault(err)
	})
}
