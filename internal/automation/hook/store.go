package hook

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// row is a row of the table of hooks.
type row struct {
	HookName          string
	URL               string `db:"url"`
	Description       string
	Events            []string
	Tools             []string
	Indexes           []string
	Headers           map[string]string
	IncludeContent    bool
	MaxPayloadBytes   int
	Secret            []byte
	PreviousSecret    []byte
	PreviousExpiresAt *time.Time
	Enabled           bool
	DisabledReason    string
	Failures          int
	FailingSince      *time.Time
	NextAttemptAt     time.Time
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

const columns = `hook_name, url, description, events, tools, indexes, headers, include_content, max_payload_bytes, secret, previous_secret, previous_expires_at,
	enabled, disabled_reason, failures, failing_since, next_attempt_at, created_at, updated_at`

func (r row) hook() Hook {
	h := Hook{
		Name: r.HookName, URL: r.URL, Description: r.Description, Events: r.Events, Tools: r.Tools, Indexes: r.Indexes, Headers: r.Headers,
		IncludeContent: r.IncludeContent, MaxPayloadBytes: r.MaxPayloadBytes, Enabled: r.Enabled, DisabledReason: r.DisabledReason,
		Failures: r.Failures, FailingSince: r.FailingSince, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	if r.PreviousSecret != nil && r.PreviousExpiresAt.After(time.Now()) {
		h.PreviousExpiresAt = r.PreviousExpiresAt
	}
	return h
}

// hooks is the table of hooks.
var hooks = catalog.Table[row]{
	Noun: "hook", Plural: "hooks", Most: maxHooks, Shown: 100,
	Name:      func(r row) string { return r.HookName },
	CountSQL:  `SELECT count(*) FROM ragd_shared.hooks`,
	NamesSQL:  `SELECT hook_name FROM ragd_shared.hooks ORDER BY hook_name`,
	FindSQL:   `SELECT ` + columns + ` FROM ragd_shared.hooks WHERE hook_name = $1`,
	ListSQL:   `SELECT ` + columns + ` FROM ragd_shared.hooks WHERE hook_name > $1 ORDER BY hook_name LIMIT $2`,
	DeleteSQL: `DELETE FROM ragd_shared.hooks WHERE hook_name = $1 RETURNING hook_name`,
}

// insert stores a new hook.
func insert(ctx context.Context, h *data.Handle, wanted Hook, secret []byte) (made row, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if err := journal.Enlist(ctx, tx); err != nil {
			return err
		}
		made, err = hooks.Insert(ctx, tx, wanted.Name, `
			INSERT INTO ragd_shared.hooks (hook_name, url, description, events, topics, tools, indexes, headers, include_content, max_payload_bytes, secret, enabled)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING RETURNING `+columns,
			wanted.Name, wanted.URL, wanted.Description, wanted.Events, journal.Topics(wanted.Events), wanted.Tools, wanted.Indexes, wanted.Headers,
			wanted.IncludeContent, wanted.MaxPayloadBytes, secret, wanted.Enabled)
		return err
	})
	return made, err
}

// update stores a changed hook if it was last updated at asOf. A hook that is enabled by it
// begins anew.
func update(ctx context.Context, q data.Queryer, h Hook, asOf time.Time) (row, error) {
	return hooks.Update(ctx, q, h.Name, `
		UPDATE ragd_shared.hooks SET url = $2, description = $3, events = $4, topics = $5, tools = $6, indexes = $7, headers = $8,
			include_content = $9, max_payload_bytes = $10, enabled = $11,
			disabled_reason = CASE WHEN $11 THEN '' ELSE disabled_reason END,
			failures = CASE WHEN $11 AND NOT enabled THEN 0 ELSE failures END,
			failing_since = CASE WHEN $11 AND NOT enabled THEN NULL ELSE failing_since END,
			next_attempt_at = now(),
			updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE hook_name = $1 AND updated_at = $12 RETURNING `+columns,
		h.Name, h.URL, h.Description, h.Events, journal.Topics(h.Events), h.Tools, h.Indexes, h.Headers, h.IncludeContent, h.MaxPayloadBytes, h.Enabled, asOf)
}

// rotate replaces the secret of a hook. The old one is kept for a time.
func rotate(ctx context.Context, q data.Queryer, name string, secret []byte, grace time.Duration) (row, error) {
	r, err := data.Get[row](ctx, q, `
		UPDATE ragd_shared.hooks SET previous_secret = CASE WHEN $3::interval > '0' THEN secret END, previous_expires_at = now() + $3::interval, secret = $2,
			updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE hook_name = $1 RETURNING `+columns, name, secret, grace)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, hooks.NotFound(ctx, q, name)
	}
	return r, err
}

// Status is the state of a Delivery.
type Status string

// The states of a delivery. The constraint of the table lists the same.
const (
	Pending   Status = "pending"
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
)

// Delivery is an event that is or was posted to a hook.
type Delivery struct {
	DeliveryID    string
	HookName      string
	EventID       string
	Type          string
	Status        Status
	Attempts      int
	StatusCode    int    // of the last answer; 0 without one
	Error         string // of the last attempt
	Response      string // the beginning of the last answer
	DurationMS    int    `db:"duration_ms"`
	CreatedAt     time.Time
	AttemptedAt   *time.Time
	NextAttemptAt time.Time
	Data          map[string]any // of the event; nil in lists
	EventAt       time.Time
}

const deliveryColumns = `d.delivery_id::text AS delivery_id, d.hook_name, e.event_id::text AS event_id, e.type, d.status, d.attempts, d.status_code, d.error, d.response, d.duration_ms,
	d.created_at, d.attempted_at, d.next_attempt_at, e.created_at AS event_at`

const deliveriesSQL = ` FROM ragd_shared.hook_deliveries AS d JOIN ragd_shared.events AS e ON e.tenant_id = d.tenant_id AND e.xid = d.xid AND e.number = d.number `

// position is the sort key of a list of deliveries: newest first.
type position struct {
	CreatedAt  time.Time `json:"t"`
	DeliveryID string    `json:"id"`
}

// listDeliveries returns up to limit deliveries after the position, or the newest ones if it
// is nil. An empty status means any.
func listDeliveries(ctx context.Context, q data.Queryer, hook string, status Status, after *position, limit int) ([]Delivery, error) {
	var afterTime *time.Time
	afterID := uuid.Nil.String()
	if after != nil {
		afterTime, afterID = &after.CreatedAt, after.DeliveryID
	}
	return data.Select[Delivery](ctx, q, `
		SELECT `+deliveryColumns+`, NULL::jsonb AS data `+deliveriesSQL+`
		WHERE d.hook_name = $1 AND ($2 = '' OR d.status = $2)
			AND ($3::timestamptz IS NULL OR (d.created_at, d.delivery_id) < ($3, $4::uuid))
		ORDER BY d.created_at DESC, d.delivery_id DESC LIMIT $5`, hook, status, afterTime, afterID, limit)
}

// due returns up to limit deliveries of a hook that are due, those first that are due longest.
func due(ctx context.Context, q data.Queryer, hook string, limit int) ([]Delivery, error) {
	return data.Select[Delivery](ctx, q, `
		SELECT `+deliveryColumns+`, e.data `+deliveriesSQL+`
		WHERE d.hook_name = $1 AND d.status = 'pending' AND d.next_attempt_at <= now()
		ORDER BY d.next_attempt_at LIMIT $2`, hook, limit)
}

// replay makes a delivery pending that has ended. It returns nil if there is none.
func replay(ctx context.Context, q data.Queryer, hook, id string) (*Delivery, error) {
	found, err := data.Get[Delivery](ctx, q, `
		WITH d AS (
			UPDATE ragd_shared.hook_deliveries SET status = 'pending', attempts = 0, next_attempt_at = now()
			WHERE hook_name = $1 AND delivery_id = $2 RETURNING *
		)
		SELECT `+deliveryColumns+`, e.data FROM d JOIN ragd_shared.events AS e ON e.tenant_id = d.tenant_id AND e.xid = d.xid AND e.number = d.number`, hook, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &found, err
}

// record stores what came of an attempt: in the delivery, and in the hook. A hook that has
// failed for long, or whose address is gone, is disabled with its pending deliveries.
func record(ctx context.Context, h *data.Handle, d Delivery, o outcome, wait, hookWait time.Duration) error {
	status := Pending
	switch {
	case o.ok():
		status = Succeeded
	case d.Attempts+1 >= maxAttempts:
		status = Failed
	}
	b := h.Batch()
	b.Exec(`
		UPDATE ragd_shared.hook_deliveries SET status = $2, attempts = attempts + 1, next_attempt_at = now() + $3::interval, attempted_at = $4,
			duration_ms = $5, status_code = $6, error = $7, response = $8
		WHERE delivery_id = $1 AND status = 'pending'`,
		d.DeliveryID, status, wait, o.began, o.took.Milliseconds(), o.statusCode, o.err, o.response)
	if o.ok() {
		b.Exec(`
			UPDATE ragd_shared.hooks SET failures = 0, failing_since = NULL, next_attempt_at = now()
			WHERE hook_name = $1 AND failures > 0`, d.HookName)
		return b.Run(ctx)
	}
	b.Exec(`
		UPDATE ragd_shared.hooks SET failures = failures + 1, failing_since = coalesce(failing_since, $2), next_attempt_at = now() + $3::interval
		WHERE hook_name = $1`, d.HookName, o.began, hookWait)
	b.Exec(`
		UPDATE ragd_shared.hooks SET enabled = false, disabled_reason = $2, updated_at = clock_timestamp()
		WHERE hook_name = $1 AND enabled AND ($3 OR failing_since < now() - $4::interval AND failures >= $5)`,
		d.HookName, o.disables(), o.gone(), disableAfter, disableAfterFailures)
	b.Exec(`
		UPDATE ragd_shared.hook_deliveries AS d SET status = 'failed', error = CASE WHEN d.error = '' THEN 'the hook was disabled' ELSE d.error END
		WHERE d.hook_name = $1 AND d.status = 'pending' AND EXISTS (
			SELECT FROM ragd_shared.hooks AS h WHERE h.hook_name = $1 AND NOT h.enabled AND h.disabled_reason <> '')`, d.HookName)
	return b.Run(ctx)
}
