package mcptool

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tool/mcpclient"
)

// Bounds of sessions on an instance.
const (
	maxSessions       = 1000
	maxTenantSessions = 16
	idleTime          = 5 * time.Minute
)

// pool keeps sessions between calls, each for one tenant, address and set of headers. Safe
// for concurrent use.
type pool struct {
	mu      sync.Mutex
	entries map[poolKey]*entry
	closed  bool
}

type poolKey struct {
	tenant  tenant.ID
	address string
	headers [sha256.Size]byte
	elicits bool
	opens   bool
	own     string // not "" for a session of one call
}

// entry is a session, or one that is being opened. Its fields are guarded by the pool.
type entry struct {
	key     poolKey
	ready   chan struct{} // closed when session or err is set
	session *mcpclient.Session
	err     error
	users   int
	last    time.Time // when the last user left
}

func keyOf(id tenant.ID, d *Definition, headers map[string]string, w With) poolKey {
	raw, err := json.Marshal(headers) // in the order of names
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return poolKey{id, d.connection.URL.String(), sha256.Sum256(raw), w.Elicits, w.Opens, ""}
}

// use returns the session of a key and whether it was opened for this call. The caller must
// call leave. Callers of one key share a session; while it is opened, the others wait. Errors:
// those of open; Exhausted when the tenant's sessions are all in use.
func (p *pool) use(ctx context.Context, key poolKey, open func() (*mcpclient.Session, error)) (s *mcpclient.Session, opened bool, leave func(broken bool), err error) {
	p.mu.Lock()
	e := p.entries[key]
	if e == nil {
		opened = true
		if err := p.admit(key.tenant); err != nil {
			p.mu.Unlock()
			return nil, false, nil, err
		}
		e = &entry{key: key, ready: make(chan struct{})}
		p.entries[key] = e
	}
	e.users++
	p.mu.Unlock()
	leave = func(broken bool) { p.leave(e, broken) }
	if opened {
		e.session, e.err = open()
		close(e.ready)
	}
	select {
	case <-e.ready:
	case <-ctx.Done():
		leave(false)
		return nil, false, nil, ctx.Err()
	}
	if e.err != nil {
		leave(true)
		return nil, opened, nil, e.err
	}
	return e.session, opened, leave, nil
}

// admit makes room for another session of a tenant: it closes the one that was idle longest
// when there are too many. The caller holds the lock.
func (p *pool) admit(id tenant.ID) error {
	if p.closed {
		return fault.New(fault.Unavailable, "the server is stopping")
	}
	own := 0
	var idle, idleOwn *entry
	for _, e := range p.entries {
		if e.key.tenant == id {
			own++
		}
		if e.users > 0 {
			continue
		}
		if idle == nil || e.last.Before(idle.last) {
			idle = e
		}
		if e.key.tenant == id && (idleOwn == nil || e.last.Before(idleOwn.last)) {
			idleOwn = e
		}
	}
	evict := idle
	switch {
	case own >= maxTenantSessions:
		evict = idleOwn
	case len(p.entries) < maxSessions:
		return nil
	}
	if evict == nil {
		return fault.Retry(time.Second, "%d connections of the tenant's tools to MCP servers are in use: try again later", maxTenantSessions)
	}
	p.drop(evict)
	return nil
}

// drop removes an entry without users and closes its session. The caller holds the lock.
func (p *pool) drop(e *entry) {
	if p.entries[e.key] == e {
		delete(p.entries, e.key)
	}
	if e.session != nil {
		go e.session.Close() // tells the server
	}
}

// leave ends a use. A broken session gets no further users.
func (p *pool) leave(e *entry, broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.users--
	e.last = time.Now()
	if (broken || p.closed) && p.entries[e.key] == e {
		delete(p.entries, e.key)
	}
	if e.users > 0 {
		return
	}
	if p.entries[e.key] != e {
		p.drop(e)
		return
	}
	left := e.last
	time.AfterFunc(idleTime, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if e.users == 0 && e.last.Equal(left) && p.entries[e.key] == e {
			p.drop(e)
		}
	})
}

// close closes the sessions without users now, and the others when their users leave.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, e := range p.entries {
		if e.users == 0 {
			p.drop(e)
		}
	}
}
