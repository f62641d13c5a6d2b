// Package event notifies every instance of the service of changes in tenants' data,
// whichever instance made them. Triggers on the tenants' tables announce the changes when
// their transaction commits (migrations/shared); a Listener receives them.
package event

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/tenant"
)

const channel = "ragd_event"

// Event reports a change of data. It does not contain the new value: a subscriber reads
// that with its own rights.
type Event struct {
	// Tenant is the owner of the data; empty for all tenants, when Missed.
	Tenant tenant.ID
	Kind   Kind // empty when Missed
	// Name identifies what was created, changed or deleted: the id of a document, the name
	// of anything else.
	Name string
	// Index is the name of the index that a document is in or a tool is over; empty for none.
	Index string
}

// Missed reports whether events may have been missed: then any data of the tenant, or of any tenant if
// the event names none, may have changed.
func (e Event) Missed() bool { return e.Kind == "" }

// Kind is the kind of what has changed.
type Kind string

// The kinds. A table of another kind only adds a trigger with the function announce
// (migrations/shared).
const (
	Index    Kind = "index"
	Document Kind = "document" // became ready, failed or was deleted
	Tool     Kind = "tool"
	Prompt   Kind = "prompt"
	Server   Kind = "server"
	Context  Kind = "context" // a declared key of the request context
	Policy   Kind = "policy"  // of calls of tools
	Hook     Kind = "hook"
	Journal  Kind = "event"   // events were written (package journal); Name is "deliver" if hooks get some
	Watcher  Kind = "watcher" // somebody has begun to watch events

	// A session of an MCP client, by the hash of its id, and a message to instances about one
	// (package mcphttp).
	Session Kind = "mcp_session"
	Message Kind = "mcp_message"
)

// Listener receives the events of a database over a connection of its own. Safe for
// concurrent use.
type Listener struct {
	config *pgx.ConnConfig
	log    *slog.Logger
	ready  chan struct{}
	once   sync.Once

	mu          sync.Mutex
	subscribers []func(Event)
}

// NewListener returns a Listener that receives nothing until Run.
func NewListener(config *pgx.ConnConfig, log *slog.Logger) *Listener {
	return &Listener{config: config.Copy(), log: log, ready: make(chan struct{})}
}

// Subscribe registers a function that is called with every event from now on, one at a
// time. The function must not block.
func (l *Listener) Subscribe(receive func(Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribers = append(l.subscribers, receive)
}

// Ready returns a channel that is closed when the Listener first receives events.
func (l *Listener) Ready() <-chan struct{} { return l.ready }

// Pauses between attempts to connect.
const (
	minPause = 100 * time.Millisecond
	maxPause = 10 * time.Second
)

// pauseAfter returns the pause after a connection that lasted so long, which followed another pause. It
// grows while connections end quickly: whoever ends them must not make subscribers work all the time.
func pauseAfter(lasted, last time.Duration) time.Duration {
	if last == 0 || lasted >= maxPause {
		return minPause
	}
	return min(2*last, maxPause)
}

// Run listens until ctx ends and returns nil then. It reconnects after a broken connection
// and sends an empty Event, as events may have been missed meanwhile.
func (l *Listener) Run(ctx context.Context) error {
	var pause time.Duration
	for {
		start := time.Now()
		listened, err := l.listen(ctx)
		if ctx.Err() != nil {
			return nil
		}
		lasted := time.Since(start)
		if !listened {
			lasted = 0
		}
		pause = pauseAfter(lasted, pause)
		l.log.WarnContext(ctx, "event listener disconnected", "err", err, "retry_after", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// listen receives events until the connection breaks. It reports whether it could listen.
func (l *Listener) listen(ctx context.Context) (listened bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return false, fmt.Errorf("listen: %w", err)
	}
	reconnected := true
	l.once.Do(func() { reconnected = false; close(l.ready) })
	if reconnected {
		l.Publish(Event{})
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return true, err
		}
		if e, ok := parse(n.Payload); ok {
			l.Publish(e)
		}
	}
}

// Publish calls every subscriber with the event, as if it came from the listener's database: those of
// tenants in other databases come through listeners of their own.
func (l *Listener) Publish(e Event) {
	l.mu.Lock()
	subscribers := l.subscribers
	l.mu.Unlock()
	for _, receive := range subscribers {
		receive(e)
	}
}

// parse decodes a notification. It returns false if that is malformed or not about a
// tenant's schema.
func parse(payload string) (Event, bool) {
	var wire struct {
		Schema, Name, Index string
		Kind                Kind
	}
	if err := json.Unmarshal([]byte(payload), &wire); err != nil {
		return Event{}, false
	}
	id, ok := tenant.OfSchema(wire.Schema)
	return Event{Tenant: id, Kind: wire.Kind, Name: wire.Name, Index: wire.Index}, ok && wire.Kind != ""
}
