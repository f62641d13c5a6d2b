package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/automation/webhook"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Secrets returns the secrets of tenants that headers name. Package secret implements it.
type Secrets interface {
	CheckUse(ctx context.Context, names []string, to *url.URL) error
	Values(ctx context.Context, id tenant.ID, names []string, to *url.URL) (map[string]string, error)
}

// Config are the settings of a Service. All are required but Keys.
type Config struct {
	DB      *data.DB
	Work    *data.DB // for deliveries
	Queue   *job.Queue
	Events  *event.Listener
	Guard   *outbound.Guard
	Keys    *seal.Keys // nil: hooks cannot be made
	Secrets Secrets
	Logger  *slog.Logger
	Keep    time.Duration // how long events are kept, with their deliveries
}

// Service manages the hooks of the calling tenant and delivers events to them. Safe for
// concurrent use.
type Service struct {
	config Config
	client *http.Client
	slots  *limit.Limiter[tenant.ID]
	waker  *waker
}

// New returns a Service.
func New(config Config) *Service {
	s := &Service{config: config, client: config.Guard.Client(maxAtOnce, attemptTimeout), slots: limit.New[tenant.ID](maxAtOnce, maxAtOncePerTenant), waker: newWaker()}
	config.Events.Subscribe(s.waker.receive)
	return s
}

// manage returns a handle of the caller's tenant. Errors: Denied unless the caller may see all
// events of the tenant.
func (s *Service) manage(ctx context.Context) (*data.Handle, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return nil, err
	}
	if !r.Bounds.IsZero() {
		return nil, fault.New(fault.Denied, "a credential that is bound to servers, indexes, tools or prompts cannot use hooks, which receive the events of the whole tenant")
	}
	return s.config.DB.Handle(r.Tenant), nil
}

// Create stores a new hook and returns it with its secret. Errors: Denied; Invalid; Exists;
// Exhausted when the tenant has too many hooks; Precondition for an address inside the network
// of the service, and without master key.
func (s *Service) Create(ctx context.Context, wanted Hook) (Hook, string, error) {
	h, err := s.manage(ctx)
	if err != nil {
		return Hook{}, "", err
	}
	if err := s.check(ctx, &wanted); err != nil {
		return Hook{}, "", err
	}
	secret, sealed, err := s.newSecret(h.Tenant(), wanted.Name)
	if err != nil {
		return Hook{}, "", err
	}
	made, err := insert(ctx, h, wanted, sealed)
	if err != nil {
		return Hook{}, "", err
	}
	return made.hook(), secret.Text(), nil
}

// check completes and checks a hook, with the secrets that its headers use.
func (s *Service) check(ctx context.Context, h *Hook) error {
	if err := h.complete(s.config.Guard); err != nil {
		return err
	}
	address, err := checkURL(s.config.Guard, h.URL)
	if err != nil {
		return err
	}
	if names := h.secretNames(); len(names) > 0 {
		return s.config.Secrets.CheckUse(ctx, names, address)
	}
	return nil
}

func (s *Service) newSecret(id tenant.ID, name string) (webhook.Secret, []byte, error) {
	if s.config.Keys == nil {
		return webhook.Secret{}, nil, fault.New(fault.Precondition, "this server cannot store secrets of hooks: its operator sets RAGD_MASTER_KEY, with which they are encrypted")
	}
	secret := webhook.NewSecret()
	return secret, s.config.Keys.Seal([]byte(secret.Text()), belongsTo(id, name)...), nil
}

// belongsTo says to what a secret belongs: it does not open in the row of another hook.
func belongsTo(id tenant.ID, name string) []string { return []string{"hook", string(id), name} }

// Sealed are the columns with the secrets of hooks.
var Sealed = []seal.Column{
	{Table: "ragd_shared.hooks", Name: "secret", Row: "'hooks/' || hook_name", BelongsTo: sealedFor},
	{Table: "ragd_shared.hooks", Name: "previous_secret", Row: "'hooks/' || hook_name || ' (previous)'", BelongsTo: sealedFor, Needed: "previous_expires_at > now()"},
}

// sealedFor is belongsTo in SQL.
const sealedFor = "ARRAY['hook', tenant_id, hook_name]"

// open returns the secrets that sign the deliveries of a hook, the newest first. Errors:
// Precondition.
func (s *Service) open(id tenant.ID, r row) ([]webhook.Secret, error) {
	sealed := [][]byte{r.Secret}
	if r.PreviousSecret != nil && r.PreviousExpiresAt.After(time.Now()) {
		sealed = append(sealed, r.PreviousSecret)
	}
	secrets := make([]webhook.Secret, len(sealed))
	for i, raw := range sealed {
		text, err := s.config.Keys.Open(raw, belongsTo(id, r.HookName)...)
		if errors.Is(err, seal.ErrUnknownKey) {
			return nil, fault.Wrap(fault.Precondition, err, "the secret of the hook %q cannot be read, because the operator of this server no longer has the master key: rotate the secret", r.HookName)
		}
		if err == nil {
			secrets[i], err = webhook.ParseSecret("secret", string(text))
		}
		if err != nil {
			return nil, fault.Wrap(fault.Precondition, fmt.Errorf("open the secret of a hook: %w", err), "the secret of the hook %q is damaged: rotate it", r.HookName)
		}
	}
	return secrets, nil
}

// Get returns a hook. Errors: NotFound.
func (s *Service) Get(ctx context.Context, name string) (Hook, error) {
	h, err := s.manage(ctx)
	if err != nil {
		return Hook{}, err
	}
	r, err := hooks.Get(ctx, h, name)
	return r.hook(), err
}

// List returns a page of the hooks in the order of their names.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Hook, string, error) {
	h, err := s.manage(ctx)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := hooks.Page(ctx, h, pageSize, pageToken)
	found := make([]Hook, len(rows))
	for i, r := range rows {
		found[i] = r.hook()
	}
	return found, next, err
}

// Change holds the fields that Update changes. Nil leaves a field unchanged.
type Change struct {
	// ETag is that of the hook as the caller knows it; empty for any.
	ETag string

	URL             *string
	Events          []string
	Description     *string
	Tools, Indexes  []string
	IncludeContent  *bool
	MaxPayloadBytes *int
	Enabled         *bool
	Headers         map[string]string
}

// ETag returns the etag of the hook.
func (h Hook) ETag() string { return catalog.ETag(h.Name, h.UpdatedAt) }

func (c Change) apply(h Hook) Hook {
	set(&h.URL, c.URL)
	set(&h.Description, c.Description)
	set(&h.IncludeContent, c.IncludeContent)
	set(&h.MaxPayloadBytes, c.MaxPayloadBytes)
	set(&h.Enabled, c.Enabled)
	if len(c.Events) > 0 {
		h.Events = c.Events
	}
	if c.Tools != nil {
		h.Tools = c.Tools
	}
	if c.Indexes != nil {
		h.Indexes = c.Indexes
	}
	if c.Headers != nil {
		h.Headers = c.Headers
	}
	return h
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Update changes a hook. Errors: NotFound; those of Create; Conflict when another call changed
// it at the same time.
func (s *Service) Update(ctx context.Context, name string, c Change) (Hook, error) {
	h, err := s.manage(ctx)
	if err != nil {
		return Hook{}, err
	}
	old, err := hooks.Get(ctx, h, name)
	if err != nil {
		return Hook{}, err
	}
	if err := catalog.Expect(hooks.Noun, name, c.ETag, old.hook().ETag()); err != nil {
		return Hook{}, err
	}
	changed := c.apply(old.hook())
	if err := s.check(ctx, &changed); err != nil {
		return Hook{}, err
	}
	var stored row
	err = h.Tx(ctx, func(tx *data.Tx) (err error) {
		if stored, err = update(ctx, tx, changed, old.UpdatedAt); err != nil {
			return err
		}
		return s.wake(ctx, tx, name)
	})
	return stored.hook(), err
}

// Delete removes a hook with its deliveries. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, name string) error {
	h, err := s.manage(ctx)
	if err != nil {
		return err
	}
	return hooks.Delete(ctx, h, name)
}

// Rotate gives a hook a new secret and returns it. Deliveries are also signed with the old one
// for the grace, nil for a day. Errors: NotFound; Invalid.
func (s *Service) Rotate(ctx context.Context, name string, grace *time.Duration) (Hook, string, error) {
	h, err := s.manage(ctx)
	if err != nil {
		return Hook{}, "", err
	}
	keep := defaultGrace
	set(&keep, grace)
	if keep < 0 || keep > maxGrace {
		return Hook{}, "", fault.Field("graceSeconds", "must be between 0 and %d", int(maxGrace.Seconds()))
	}
	secret, sealed, err := s.newSecret(h.Tenant(), name)
	if err != nil {
		return Hook{}, "", err
	}
	stored, err := rotate(ctx, h, name, sealed, keep)
	if err != nil {
		return Hook{}, "", err
	}
	return stored.hook(), secret.Text(), nil
}

// Test posts a test event to a hook once and returns the delivery, which is in the list of
// deliveries too. Errors: NotFound.
func (s *Service) Test(ctx context.Context, name string) (Delivery, error) {
	h, err := s.manage(ctx)
	if err != nil {
		return Delivery{}, err
	}
	r, err := hooks.Get(ctx, h, name)
	if err != nil {
		return Delivery{}, err
	}
	t, err := s.target(ctx, h.Tenant(), r)
	if err != nil {
		return Delivery{}, err
	}
	d := Delivery{
		DeliveryID: uuid.NewString(), HookName: name, EventID: uuid.NewString(), Type: journal.Test,
		Data: map[string]any{"hookName": name, "message": "This is a test."}, EventAt: time.Now(),
	}
	d.CreatedAt = d.EventAt
	if err := s.slots.Acquire(ctx, h.Tenant()); err != nil {
		return Delivery{}, err
	}
	o := s.try(ctx, h.Tenant(), t, d)
	s.slots.Release(h.Tenant(), 1)
	d.Status, d.Attempts, d.StatusCode, d.Error, d.Response = Succeeded, 1, o.statusCode, o.err, o.response
	d.DurationMS, d.AttemptedAt = int(o.took.Milliseconds()), &o.began
	if !o.ok() {
		d.Status = Failed
	}
	return d, insertTest(ctx, h, d)
}

// insertTest stores the delivery of a test with its event.
func insertTest(ctx context.Context, h *data.Handle, d Delivery) error {
	_, err := h.Exec(ctx, `
		WITH e AS (INSERT INTO ragd_shared.events (event_id, type, data, created_at) VALUES ($1, $2, $3, $4) RETURNING xid, number)
		INSERT INTO ragd_shared.hook_deliveries (delivery_id, hook_name, xid, number, status, attempts, attempted_at, duration_ms, status_code, error, response)
		SELECT $5, $6, e.xid, e.number, $7, 1, $8, $9, $10, $11, $12 FROM e`,
		d.EventID, d.Type, d.Data, d.EventAt, d.DeliveryID, d.HookName, d.Status, d.AttemptedAt, d.DurationMS, d.StatusCode, d.Error, d.Response)
	return err
}

// Deliveries returns a page of the deliveries of a hook, newest first. An empty status means
// any. Errors: NotFound; Invalid.
func (s *Service) Deliveries(ctx context.Context, name, status string, pageSize int32, pageToken string) ([]Delivery, string, error) {
	h, err := s.manage(ctx)
	if err != nil {
		return nil, "", err
	}
	switch Status(status) {
	case "", Pending, Succeeded, Failed:
	default:
		return nil, "", fault.Field("status", "unknown status %q; known are pending, succeeded and failed", status)
	}
	if _, err := hooks.Get(ctx, h, name); err != nil {
		return nil, "", err
	}
	key := func(d Delivery) *position { return &position{d.CreatedAt, d.DeliveryID} }
	return pagination.List(access.Pages(ctx, "deliveries", name, status), pageSize, pageToken, nil, key, func(after *position, most int) ([]Delivery, error) {
		return listDeliveries(ctx, h, name, Status(status), after, most)
	})
}

// Replay delivers an event again. Errors: NotFound; Precondition while the hook is disabled.
func (s *Service) Replay(ctx context.Context, name, deliveryID string) (Delivery, error) {
	var found *Delivery
	err := s.replaying(ctx, name, func(ctx context.Context, tx *data.Tx) (err error) {
		if uuid.Validate(deliveryID) == nil && len(deliveryID) == len(uuid.Nil.String()) {
			found, err = replay(ctx, tx, name, deliveryID)
		}
		if err == nil && found == nil {
			err = fault.New(fault.NotFound, "the hook %q has no such delivery: list its deliveries to see them; they are kept for %s", name, journal.Hours(s.config.Keep))
		}
		return err
	})
	if err != nil {
		return Delivery{}, err
	}
	return *found, nil
}

// ReplayFailed delivers the events again whose deliveries have failed since a time, nil for
// all, and returns their number. Errors: as Replay.
func (s *Service) ReplayFailed(ctx context.Context, name string, since *time.Time) (n int64, err error) {
	err = s.replaying(ctx, name, func(ctx context.Context, tx *data.Tx) (err error) {
		n, err = tx.Exec(ctx, `
			UPDATE ragd_shared.hook_deliveries SET status = 'pending', attempts = 0, next_attempt_at = now()
			WHERE hook_name = $1 AND status = 'failed' AND ($2::timestamptz IS NULL OR created_at >= $2)`, name, since)
		return err
	})
	return n, err
}

// replaying runs do, which makes deliveries of a hook pending again, and starts to deliver.
func (s *Service) replaying(ctx context.Context, name string, do func(context.Context, *data.Tx) error) error {
	h, err := s.manage(ctx)
	if err != nil {
		return err
	}
	return h.Tx(ctx, func(tx *data.Tx) error {
		r, err := hooks.Get(ctx, tx, name)
		if err != nil {
			return err
		}
		if !r.Enabled {
			return fault.New(fault.Precondition, "the hook %q is disabled: enable it first", name)
		}
		if err := do(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE ragd_shared.hooks SET next_attempt_at = now() WHERE hook_name = $1`, name); err != nil {
			return err
		}
		return s.wake(ctx, tx, name)
	})
}
