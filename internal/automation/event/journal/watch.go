package journal

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of watchers.
const (
	maxWatchers          = 2_000 // on an instance
	maxWatchersPerTenant = 100   // on an instance
	maxFilterNames       = 100
	maxFilterNameBytes   = 200
)

const (
	// heartbeat is the longest time between two messages.
	heartbeat = 15 * time.Second
	// readPause is the shortest time between two reads of a watcher, so that many small
	// transactions are read together.
	readPause = 50 * time.Millisecond
	// renewal is how often a watcher extends its time, and lease by how much.
	renewal = 30 * time.Second
	lease   = 3 * renewal
	// leaveTimeout bounds the statement with which a watcher ends.
	leaveTimeout = 5 * time.Second
)

// Watch selects events.
type Watch struct {
	Types   []string // types or patterns; empty for all
	Indexes []string // empty for all
	Tools   []string // of the events of tools; empty for all
	Cursor  string   // that of a Message after which the events begin; empty for those from now on
}

// Message is an event, or nil if there was none for a time, and the cursor after it.
type Message struct {
	Event  *Event
	Cursor string
}

// watcher is one caller that watches.
type watcher struct{ wake chan struct{} }

// notify makes the watcher read. It does not block.
func (w *watcher) notify() {
	select {
	case w.wake <- struct{}{}:
	default: // it reads anyway
	}
}

// Watch sends the events that the caller may see until send fails or ctx ends. The first
// message has no event. Errors: Invalid; Precondition for a cursor that is older than
// the events that are kept; Exhausted when too many callers watch; those of send.
func (j *Journal) Watch(ctx context.Context, wanted Watch, send func(Message) error) error {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return err
	}
	s, err := newStream(ctx, r, wanted, j.config.Keep.Age)
	if err != nil {
		return err
	}
	s.handle, s.send = j.config.DB.Handle(r.Tenant), send
	me, err := j.enter(r.Tenant)
	if err != nil {
		return err
	}
	defer j.leave(r.Tenant, me)
	id := uuid.NewString()
	if err := s.register(ctx, id); err != nil {
		return err
	}
	defer s.unregister(ctx, id)
	return s.run(ctx, me, id)
}

// enter adds a watcher. Errors: Exhausted.
func (j *Journal) enter(id tenant.ID) (*watcher, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.watchers[id]) >= maxWatchersPerTenant {
		return nil, fault.New(fault.Exhausted, "this tenant watches events on %d streams of this instance, which is the limit: end one", maxWatchersPerTenant)
	}
	if j.watching >= maxWatchers {
		return nil, fault.New(fault.Exhausted, "this instance has %d streams of events, which is the limit: try again later", maxWatchers)
	}
	me := &watcher{wake: make(chan struct{}, 1)}
	if j.watchers[id] == nil {
		j.watchers[id] = map[*watcher]bool{}
	}
	j.watchers[id][me] = true
	j.watching++
	return me, nil
}

func (j *Journal) leave(id tenant.ID, me *watcher) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.watchers[id], me)
	if len(j.watchers[id]) == 0 {
		delete(j.watchers, id)
	}
	j.watching--
}

// stream is the stream of one watcher.
type stream struct {
	handle *data.Handle
	send   func(Message) error
	scope  scope
	tokens tokens
	at     cursor
}

func newStream(ctx context.Context, r *access.Request, wanted Watch, keep time.Duration) (*stream, error) {
	types, err := Select("types", wanted.Types)
	if err != nil {
		return nil, err
	}
	for field, names := range map[string][]string{"indexes": wanted.Indexes, "tools": wanted.Tools} {
		if err := checkNames(field, names); err != nil {
			return nil, err
		}
	}
	s := &stream{scope: scopeOf(r, types, wanted), tokens: tokens{access.Pages(ctx, "events"), keep}}
	if wanted.Cursor != "" {
		s.at, err = s.tokens.decode(wanted.Cursor)
	}
	return s, err
}

func checkNames(field string, names []string) error {
	if len(names) > maxFilterNames {
		return fault.Field(field, "must be at most %d, got %d", maxFilterNames, len(names))
	}
	for _, name := range names {
		if err := textlimit.Check(field, name, maxFilterNameBytes); err != nil {
			return err
		}
	}
	return nil
}

// register says that the events of the stream are wanted, from now on until unregister.
func (s *stream) register(ctx context.Context, id string) error {
	return s.handle.Tx(ctx, func(tx *data.Tx) error {
		if err := Enlist(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM ragd_shared.event_watchers WHERE until < now()`); err != nil {
			return err
		}
		if err := s.renew(ctx, tx, id); err != nil {
			return err
		}
		// Instances that remember that nobody wants events of tools forget it.
		_, err := tx.Exec(ctx, `SELECT pg_notify('ragd_event', json_build_object('schema', $1::text, 'kind', 'watcher')::text)`, s.handle.Tenant().Schema())
		return err
	})
}

// execer runs a statement: a tenant's Handle or Tx.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
}

func (s *stream) renew(ctx context.Context, on execer, id string) error {
	_, err := on.Exec(ctx, `
		INSERT INTO ragd_shared.event_watchers (watcher_id, topics, until) VALUES ($1, $2, now() + $3::interval)
		ON CONFLICT (tenant_id, watcher_id) DO UPDATE SET until = excluded.until`, id, Topics(s.scope.types), lease)
	return err
}

// unregister says that the events of the stream are no longer wanted, unless the service ended it
// to shut down: then they are wanted until the lease ends, for the caller who comes back.
func (s *stream) unregister(ctx context.Context, id string) {
	if fault.KindOf(context.Cause(ctx)) == fault.Unavailable {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	_, _ = s.handle.Exec(ctx, `DELETE FROM ragd_shared.event_watchers WHERE watcher_id = $1`, id) // else it expires
}

// run sends events until send or a statement fails or ctx ends.
func (s *stream) run(ctx context.Context, me *watcher, id string) error {
	if s.at.Seen == "" {
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
	if err := s.alive(); err != nil {
		return err
	}
	me.notify()
	beat, renew := time.NewTicker(heartbeat), time.NewTicker(renewal)
	defer beat.Stop()
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-renew.C:
			if err := s.renew(ctx, s.handle, id); err != nil {
				return err
			}
		case <-me.wake:
			sent, err := s.read(ctx)
			if err != nil {
				return err
			}
			if sent {
				beat.Reset(heartbeat)
			}
			if err := pause(ctx, readPause); err != nil {
				return err
			}
		case <-beat.C:
			if _, err := s.read(ctx); err != nil { // in case that a notification was lost
				return err
			}
			if err := s.alive(); err != nil {
				return err
			}
		}
	}
}

// alive sends a message without an event.
func (s *stream) alive() error {
	return s.send(Message{Cursor: s.tokens.encode(s.at)})
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
