// Package journal keeps the events of tenants for some days: what happened to their documents,
// jobs, keys, tools and indexes. It streams them to callers who watch.
//
// Triggers write most events, in the transaction that the event tells of (migrations/shared).
// An event is written only while a hook or a watcher of the tenant wants its topic, so that
// other tenants pay nothing for it.
package journal

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Retention says how long events are kept. Zero values mean the defaults.
type Retention struct {
	Age time.Duration
	// Events and Bytes of data bound the events of a tenant. Older ones are deleted first.
	Events int
	Bytes  int64
}

// Defaults of a Retention.
const (
	DefaultAge    = 72 * time.Hour
	DefaultEvents = 50_000
	DefaultBytes  = 64 << 20
)

// Check completes a Retention. Errors: Invalid, naming the setting.
func (r Retention) Check() (Retention, error) {
	r = Retention{cmp.Or(r.Age, DefaultAge), cmp.Or(r.Events, DefaultEvents), cmp.Or(r.Bytes, DefaultBytes)}
	switch {
	case r.Age < time.Minute:
		return r, fault.Field("event-retention", "must be at least 1m")
	case r.Events < 1:
		return r, fault.Field("max-events", "must be at least 1")
	case r.Bytes < 1:
		return r, fault.Field("max-event-bytes", "must be at least 1")
	}
	return r, nil
}

// Event is something that happened to a tenant.
type Event struct {
	EventID   string
	Type      string
	CreatedAt time.Time
	Data      map[string]any
}

// Control runs statements on the control schema, with the rights of the service.
type Control interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Config are the settings of a Journal. All are required but Keep, which Check has completed if it is
// given.
type Config struct {
	DB      *data.DB
	Control Control
	Events  *event.Listener
	Logger  *slog.Logger
	Keep    Retention
}

// Journal reads, streams and deletes events. Safe for concurrent use.
type Journal struct {
	config Config

	mu       sync.Mutex
	sweeps   map[chan struct{}]bool // of each Run; they ask for a sweep of all tenants
	watchers map[tenant.ID]map[*watcher]bool
	watching int // of all tenants
}

// New returns a Journal that is told of new events by the Listener.
func New(config Config) *Journal {
	if config.Keep == (Retention{}) {
		config.Keep = Retention{DefaultAge, DefaultEvents, DefaultBytes}
	}
	j := &Journal{config: config, watchers: map[tenant.ID]map[*watcher]bool{}, sweeps: map[chan struct{}]bool{}}
	config.Events.Subscribe(j.receive)
	return j
}

// receive wakes the watchers of a tenant, or all of them when events of any tenant may have been missed.
func (j *Journal) receive(e event.Event) {
	if e.Kind != event.Journal && !e.Missed() {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.Tenant == "" {
		for sweeps := range j.sweeps {
			select {
			case sweeps <- struct{}{}:
			default:
			}
		}
	}
	for id, watchers := range j.watchers {
		if e.Tenant != "" && e.Tenant != id {
			continue
		}
		for w := range watchers {
			w.notify()
		}
	}
}

// Enlist notes that the tenant of a transaction has events from now on, so that Run deletes
// its old ones.
func Enlist(ctx context.Context, tx *data.Tx) error {
	return tx.AsService(ctx, func(service pgx.Tx) error {
		_, err := service.Exec(ctx, `
			INSERT INTO ragd.event_tenants AS t (tenant_id) VALUES ($1)
			ON CONFLICT (tenant_id) DO UPDATE SET swept_at = t.swept_at`, tx.Tenant()) // waits for a sweep that delists the tenant
		return err
	})
}
