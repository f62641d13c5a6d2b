package mcphttp

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/limit"
	"github.com/ragdhq/ragd/internal/tenant"
)

// rooms are the tenants' MCP servers on this instance, and who is in them.
type rooms struct {
	cfg    Config
	signer signer

	// streams ends when the instance starts to shut down, requests when it stops
	// waiting for those in flight.
	streams, requests       context.Context
	endStreams, endRequests context.CancelFunc

	openStreams *limit.Limiter[tenant.ID]

	mu      sync.Mutex
	byID    map[tenant.ID]*room
	inside  int           // requests in flight
	closing bool          // no one enters any more
	empty   chan struct{} // closed when closing and no one is inside
}

// room is one tenant's MCP server.
type room struct {
	mcp      *server.MCPServer
	http     *server.StreamableHTTPServer
	legacy   map[string]*sseSession // open SSE streams by session id
	sessions *sessions
	inside   int
	lastUsed time.Time
}

// visit is one request inside a room.
type visit struct {
	rooms     *rooms
	room      *room
	tenant    tenant.ID
	message   message
	sessionID string
	session   *session // nil outside a session
	ctx       context.Context
	cancel    context.CancelFunc
	unhook    []func() bool
}

func newRooms(cfg Config) *rooms {
	r := &rooms{
		cfg:    cfg,
		signer: signer{cfg.SessionKey},
		byID:   map[tenant.ID]*room{},
		empty:  make(chan struct{}),

		openStreams: limit.New[tenant.ID](0, int64(cfg.MaxStreams)),
	}
	r.streams, r.endStreams = context.WithCancel(context.Background())
	r.requests, r.endRequests = context.WithCancel(context.Background())
	go r.sweep()
	return r
}

// enter checks the session and lets a request in. Whoever enters must leave.
// Errors: those of sessions; Exhausted when the tenant has too many streams
// open; Unavailable during shutdown.
func (r *rooms) enter(ctx context.Context, caller *tenant.Request, m message) (*visit, error) {
	now, o := time.Now(), ownerOf(caller)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "the service is shutting down", RetryAfter: time.Second}
	}
	v := &visit{rooms: r, room: r.room(caller.Tenant, now), tenant: caller.Tenant, message: m, sessionID: m.session}
	if err := v.join(o, now); err != nil {
		return nil, err
	}
	if m.isStream() && !r.openStreams.TryAcquire(caller.Tenant, 1) {
		return nil, fault.Retry(time.Minute, "too many open streams: close those no longer read")
	}
	if v.session != nil {
		v.session.requests++
	}
	v.room.inside++
	r.inside++
	v.bind(ctx)
	return v, nil
}

// room returns the tenant's room, and makes it first if there is none.
func (r *rooms) room(id tenant.ID, now time.Time) *room {
	found := r.byID[id]
	if found == nil {
		found = &room{mcp: r.cfg.Server(id), legacy: map[string]*sseSession{}}
		found.http = server.NewStreamableHTTPServer(found.mcp,
			server.WithSessionIdManagerResolver(checkedSessions{}),
			server.WithStreamableHTTPLogger(slog.New(libraryLog{r.cfg.Logger.Handler()})),
		)
		found.sessions = newSessions(r.signer, r.cfg.MaxSessions, found.forget)
		r.byID[id] = found
	}
	found.lastUsed = now
	return found
}

// forget has the library drop its state of a session, which only a request can.
func (r *room) forget(sessionID string) {
	r.http.Handle(discard{http.Header{}}, &server.HTTPRequest{
		Method: http.MethodDelete,
		Header: http.Header{sessionHeader: {sessionID}},
	})
}

// join finds or opens the session that the message needs.
func (v *visit) join(o owner, now time.Time) (err error) {
	switch {
	case v.message.modern:
	case v.rooms.cfg.Stateless:
		if v.message.verb != http.MethodPost {
			return &refusal{http.StatusMethodNotAllowed, mcpgo.INVALID_REQUEST, "this endpoint has no sessions: it takes POST"}
		}
		v.sessionID = rand.Text()
	case v.message.opensSession():
		v.sessionID, v.session, err = v.room.sessions.begin(o, now)
	default:
		v.session, err = v.room.sessions.use(v.sessionID, o, now)
	}
	return err
}

// bind makes the context of the request end with whatever it is part of.
func (v *visit) bind(ctx context.Context) {
	v.ctx, v.cancel = context.WithCancel(context.WithValue(ctx, mintedKey{}, v.sessionID))
	ends := []context.Context{v.rooms.requests}
	if v.message.isStream() {
		ends = append(ends, v.rooms.streams)
	}
	if v.session != nil {
		ends = append(ends, v.session.ctx)
	}
	for _, end := range ends {
		v.unhook = append(v.unhook, context.AfterFunc(end, v.cancel)) //nolint:contextcheck // it is about other contexts
	}
}

// request is what the library gets to see.
func (v *visit) request(r *http.Request) *server.HTTPRequest {
	header := r.Header
	if v.alone() {
		header = header.Clone()
		header.Set(sessionHeader, v.sessionID)
	}
	return &server.HTTPRequest{Method: r.Method, URL: r.URL, Header: header, Body: v.message.body, Context: v.ctx}
}

// alone reports whether the request has a session to itself, of which the client
// knows nothing. With one for all, the library would let a caller cancel the
// requests of others and answer for them.
func (v *visit) alone() bool { return v.rooms.cfg.Stateless && !v.message.modern }

// endSession ends the session that the request is part of.
func (v *visit) endSession() {
	v.rooms.mu.Lock()
	defer v.rooms.mu.Unlock()
	v.room.sessions.finish(v.sessionID)
}

func (v *visit) leave() {
	for _, unhook := range v.unhook {
		unhook()
	}
	v.cancel()
	if v.alone() {
		v.room.forget(v.sessionID)
	}
	r, now := v.rooms, time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.message.isStream() {
		r.openStreams.Release(v.tenant, 1)
	}
	if v.session != nil {
		v.session.requests--
		v.session.lastUsed = now
	}
	v.room.lastUsed = now
	v.room.inside--
	r.inside--
	r.closeIfEmpty()
}

func (r *rooms) closeIfEmpty() {
	if r.closing && r.inside == 0 {
		select {
		case <-r.empty:
		default:
			close(r.empty)
		}
	}
}

// sweep forgets idle sessions, and rooms without one.
func (r *rooms) sweep() {
	ticker := time.NewTicker(max(r.cfg.SessionIdle/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			r.forgetIdle(now.Add(-r.cfg.SessionIdle))
		case <-r.streams.Done():
			return
		}
	}
}

func (r *rooms) forgetIdle(before time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, room := range r.byID {
		room.sessions.forgetIdle(before)
		if room.inside == 0 && len(room.sessions.open) == 0 && room.lastUsed.Before(before) {
			delete(r.byID, id)
			if r.cfg.Forget != nil {
				r.cfg.Forget(id)
			}
		}
	}
}

func (r *rooms) shutdown(ctx context.Context) error {
	r.mu.Lock()
	r.closing = true
	r.closeIfEmpty()
	r.mu.Unlock()
	r.endStreams()
	defer r.endRequests()
	select {
	case <-r.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type mintedKey struct{}

// checkedSessions gives the library the session id that enter has opened, and
// approves of every other one: enter has checked it.
type checkedSessions struct {
	minted string
}

// ResolveSessionIdManager implements server.SessionIdManagerResolver.
func (checkedSessions) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	minted, _ := r.Context().Value(mintedKey{}).(string)
	return checkedSessions{minted}
}

func (s checkedSessions) Generate() string                            { return s.minted }
func (checkedSessions) Validate(string) (bool, error)                 { return false, nil }
func (checkedSessions) Terminate(string) (notAllowed bool, err error) { return false, nil }

// discard is the response of a request that nobody made.
type discard struct {
	header http.Header
}

func (d discard) Header() http.Header       { return d.header }
func (discard) WriteHeader(int)             {}
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Flush()                      {}
func (discard) CanStream() bool             { return false }
