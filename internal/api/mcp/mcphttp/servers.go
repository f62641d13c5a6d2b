package mcphttp

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
)

// servers holds the MCP servers of the tenants on this instance, and counts their
// requests.
type servers struct {
	cfg    Config
	signer signer
	store  *store // nil without a database
	// instance is a random name of this one, in the ids of events and of requests to clients.
	instance string

	// streams ends when shutdown starts, requests when shutdown stops waiting for those
	// in flight.
	streams, requests       context.Context
	endStreams, endRequests context.CancelFunc

	openStreams *limit.Limiter[tenant.ID]
	heldEvents  *limit.Limiter[tenant.ID] // bytes

	mu      sync.Mutex
	byID    map[tenant.ID]map[string]*tenantServer // by name
	resumed map[string]*follower                   // by name, which are told of messages
	active  int                                    // requests in flight, of all tenants
	closing bool                                   // rejects new requests
	idle    chan struct{}                          // closed when closing and no request is in flight
}

// tenantServer is one MCP server of one tenant.
type tenantServer struct {
	mcp      *server.MCPServer
	http     *server.StreamableHTTPServer
	legacy   map[string]*sseSession // open SSE streams by session id
	sessions *sessions
	active   int
	lastUsed time.Time
}

// call is one request to a tenant's server.
type call struct {
	servers   *servers
	server    *tenantServer
	caller    *caller
	tenant    tenant.ID
	message   message
	sessionID string
	session   *session // nil outside of a session
	ctx       context.Context
	cancel    context.CancelFunc
	unhook    []func() bool
	failing   *failing
	left      bool // the session and the stream's slot; guarded by the mutex of servers
}

func newServers(cfg Config) *servers {
	r := &servers{
		cfg:    cfg,
		signer: signer{cfg.SessionKey},
		byID:   map[tenant.ID]map[string]*tenantServer{},
		idle:   make(chan struct{}),

		instance: strings.ToLower(rand.Text()[:instanceChars]),
		resumed:  map[string]*follower{},

		openStreams: limit.New[tenant.ID](0, int64(cfg.MaxStreams)),
		heldEvents:  limit.New[tenant.ID](0, maxTenantHeldBytes),
	}
	r.streams, r.endStreams = context.WithCancel(context.Background())
	r.requests, r.endRequests = context.WithCancel(context.Background())
	if cfg.DB != nil {
		r.store = &store{db: cfg.DB, instance: r.instance, keepMessages: cfg.ResumeFor}
		cfg.Events.Subscribe(r.receive)
	}
	go r.sweep()
	return r
}

// instanceChars is the length of the name of an instance: 50 bits.
const instanceChars = 10

// begin checks the session and starts a call, which the caller must end. Errors: those of
// sessions; Exhausted if the tenant has too many open streams; Unavailable during
// shutdown.
func (r *servers) begin(by *caller, m message) (*call, error) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "the service is shutting down", RetryAfter: time.Second}
	}
	c := &call{servers: r, server: r.of(by.Tenant, by.server, now), caller: by, tenant: by.Tenant, message: m, sessionID: m.session}
	if err := c.join(by.owner, now); err != nil {
		return nil, err
	}
	if m.isStream() && !r.openStreams.TryAcquire(by.Tenant, 1) {
		return nil, fault.Retry(time.Minute, "too many open streams: close those no longer read")
	}
	if c.session != nil {
		c.session.requests++
		c.session.calls[m.id]++
		if m.verb == http.MethodGet {
			c.session.listener = c
		}
	}
	c.server.active++
	r.active++
	c.bind(by.ctx)
	return c, nil
}

// of returns a server of a tenant, which it creates if there is none.
func (r *servers) of(id tenant.ID, name string, now time.Time) *tenantServer {
	found := r.byID[id][name]
	if found == nil {
		found = &tenantServer{mcp: r.cfg.Server(id, name), legacy: map[string]*sseSession{}}
		found.http = server.NewStreamableHTTPServer(found.mcp,
			server.WithSessionIdManagerResolver(checkedSessions{}),
			server.WithStreamableHTTPLogger(slog.New(libraryLog{r.cfg.Logger.Handler()})),
		)
		found.sessions = newSessions(r.signer, r.store != nil, func() bool { return r.admitsSession(id) }, found.forget,
			func() *streams { return newStreams(id, r.instance, r.heldEvents, r.cfg.ResumeFor) })
		if r.byID[id] == nil {
			r.byID[id] = map[string]*tenantServer{}
		}
		r.byID[id][name] = found
	}
	found.lastUsed = now
	return found
}

// admitsSession reports whether a tenant may open one more session. If it has as many as it may,
// on all of its servers, the one that has been idle longest is forgotten for it.
func (r *servers) admitsSession(id tenant.ID) bool {
	open := 0
	for _, s := range r.byID[id] {
		open += len(s.sessions.open)
	}
	if open < r.cfg.MaxSessions {
		return true
	}
	var of *sessions
	var oldest *session
	for _, s := range r.byID[id] {
		if idle := s.sessions.oldestIdle(); idle != nil && (of == nil || idle.lastUsed.Before(oldest.lastUsed)) {
			of, oldest = s.sessions, idle
		}
	}
	if of != nil {
		of.forget(oldest)
	}
	return of != nil
}

// forget drops the library's state of a session, which only a request can do.
func (r *tenantServer) forget(sessionID string) {
	r.http.Handle(discard{http.Header{}}, &server.HTTPRequest{
		Method: http.MethodDelete,
		Header: http.Header{sessionHeader: {sessionID}},
	})
}

// join finds or opens the session that the message needs.
func (c *call) join(o owner, now time.Time) (err error) {
	switch {
	case c.message.modern:
	case c.servers.cfg.Stateless:
		if c.message.verb != http.MethodPost {
			return &refusal{http.StatusMethodNotAllowed, mcpgo.INVALID_REQUEST, "this endpoint has no sessions: it takes POST"}
		}
		c.sessionID = rand.Text()
	case c.message.opensSession():
		c.sessionID, c.session, err = c.server.sessions.begin(o, now)
	default:
		signed := c.servers.store == nil || c.message.overSSE || c.servers.cfg.signed
		c.session, err = c.server.sessions.use(c.sessionID, o, signed, now)
	}
	return err
}

// stored reports whether the session of the call is in the database. Those of SSEPath end with
// their stream.
func (c *call) stored() bool {
	return c.servers.store != nil && c.session != nil && !c.message.opensSSE && !c.message.overSSE
}

// resumable reports whether the streams of the call are kept for a client that comes back.
func (c *call) resumable() bool {
	return c.session != nil && !c.message.opensSSE && !c.message.overSSE
}

// bind sets the context of the call, which ends with the shutdown, the session or the
// request; if it is resumable, respond decides what the end of the request means.
func (c *call) bind(ctx context.Context) {
	if c.resumable() {
		ctx = context.WithValue(context.WithoutCancel(ctx), announcedKey{}, c.session.streams)
	}
	if c.message.detached != nil {
		ctx = context.WithValue(ctx, detachedKey{}, c.message.detached)
	}
	c.failing = &failing{}
	ctx = context.WithValue(ctx, failingKey{}, c.failing)
	if c.session != nil {
		ctx = context.WithValue(ctx, sessionKey{}, c.session)
	}
	if c.stored() {
		ctx = context.WithValue(ctx, callKey{}, c)
	}
	c.ctx, c.cancel = context.WithCancel(context.WithValue(ctx, mintedKey{}, c.sessionID))
	ends := []context.Context{c.servers.requests}
	if c.message.isStream() {
		ends = append(ends, c.servers.streams)
	}
	if c.session != nil {
		ends = append(ends, c.session.ctx)
	}
	for _, end := range ends {
		c.unhook = append(c.unhook, context.AfterFunc(end, c.cancel)) //nolint:contextcheck // cancels the call when another context ends
	}
}

// request returns the request for the library.
func (c *call) request(r *http.Request) *server.HTTPRequest {
	header := r.Header
	if c.ephemeral() {
		header = header.Clone()
		header.Set(sessionHeader, c.sessionID)
	}
	return &server.HTTPRequest{Method: r.Method, URL: r.URL, Header: header, Body: c.message.body, Context: c.ctx}
}

// ephemeral reports whether the call gets its own session, unknown to the client. With
// one session for all, the library would let callers cancel the requests of others and
// answer for them.
func (c *call) ephemeral() bool { return c.servers.cfg.Stateless && !c.message.modern }

// endSession ends the session of the call, on all instances. Errors: Unavailable.
func (c *call) endSession() error {
	if c.stored() {
		// The announcement ends the context of the call.
		if err := c.servers.store.end(context.WithoutCancel(c.ctx), c.tenant, c.session.hash); err != nil {
			return err
		}
	}
	c.finishSession()
	return nil
}

// finishSession ends the session of the call on this instance.
func (c *call) finishSession() {
	c.servers.mu.Lock()
	defer c.servers.mu.Unlock()
	c.server.sessions.finish(c.session)
}

// leaveStream gives up the slot of a stream whose client is gone, and lets its session be
// evicted.
func (c *call) leaveStream() {
	c.servers.mu.Lock()
	defer c.servers.mu.Unlock()
	if c.message.isStream() {
		c.leave(time.Now())
	}
}

// leave ends the use of the session and of the stream's slot. The caller holds the mutex of
// servers.
func (c *call) leave(now time.Time) {
	if c.left {
		return
	}
	c.left = true
	if c.message.isStream() {
		c.servers.openStreams.Release(c.tenant, 1)
	}
	if c.session != nil {
		c.session.requests--
		c.session.lastUsed = now
		if c.session.calls[c.message.id]--; c.session.calls[c.message.id] == 0 {
			delete(c.session.calls, c.message.id)
		}
		if c.session.listener == c {
			c.session.listener = nil
		}
	}
}

func (c *call) end() {
	for _, unhook := range c.unhook {
		unhook()
	}
	c.cancel()
	if c.ephemeral() {
		c.server.forget(c.sessionID)
	}
	r, now := c.servers, time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	c.leave(now)
	c.server.lastUsed = now
	c.server.active--
	r.active--
	r.closeIfIdle()
}

func (r *servers) closeIfIdle() {
	if r.closing && r.active == 0 {
		select {
		case <-r.idle:
		default:
			close(r.idle)
		}
	}
}

// sweep drops idle sessions, and idle servers without sessions, until shutdown.
func (r *servers) sweep() {
	ticker := time.NewTicker(max(r.cfg.SessionIdle/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			r.touch()
			r.forgetIdle(now.Add(-r.cfg.SessionIdle))
		case <-r.streams.Done():
			return
		}
	}
}

func (r *servers) forgetIdle(before time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, named := range r.byID {
		for name, s := range named {
			s.sessions.forgetIdle(before)
			if s.active == 0 && len(s.sessions.open) == 0 && s.lastUsed.Before(before) {
				delete(named, name)
				if r.cfg.Forget != nil {
					r.cfg.Forget(id, name)
				}
			}
		}
		if len(named) == 0 {
			delete(r.byID, id)
		}
	}
}

func (r *servers) shutdown(ctx context.Context) error {
	r.mu.Lock()
	r.closing = true
	r.closeIfIdle()
	r.mu.Unlock()
	r.endStreams()
	defer r.endRequests()
	select {
	case <-r.idle:
		r.park(ctx)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type mintedKey struct{}

// checkedSessions passes the id of a new session to the library, and accepts all other
// ids, because begin has checked them.
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

// discard is a response writer that discards everything.
type discard struct {
	header http.Header
}

func (d discard) Header() http.Header       { return d.header }
func (discard) WriteHeader(int)             {}
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Flush()                      {}
func (discard) CanStream() bool             { return false }
