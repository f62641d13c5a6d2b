package mcphttp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// Path is the path of the endpoint of a tenant's default server. Its named servers are below it.
const Path = credential.MCPPath

// named is the end of the patterns of the paths of named servers.
const named = "/{server}"

// Config configures a Handler. Authenticate and Server are required; zero values mean the
// defaults.
type Config struct {
	// Authenticate returns the middleware that puts a access.Request into the context or
	// calls refuse. It is the method Middleware of credential.Authenticator.
	Authenticate func(refuse func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler
	// DB keeps the sessions, so that each instance can serve those of the others. Default: the
	// sessions of an instance end with it.
	DB *data.DB
	// Detached says that the tools take their arguments from Arguments, if it has them, and
	// return what Result returns, which keeps both from the library.
	Detached bool
	// Enter returns the context of a request through a server of the caller's tenant, or an
	// error that does not tell whether the server does not exist or may not be used. The name is
	// empty for the default server. Default: there is only that, and it changes nothing.
	Enter func(ctx context.Context, name string) (context.Context, error)
	// Events tells of what other instances do in a session. Required with DB.
	Events *event.Listener
	// Forget is called when a tenant's server is dropped. Optional. It must not call the
	// Handler.
	Forget func(id tenant.ID, name string)
	// Issuers returns the authorization servers whose tokens are accepted in requests that name
	// this tenant, "" for none. It is the method Issuers of credential.Authenticator. Default: only
	// API keys are accepted, and there is no metadata document.
	Issuers func(ctx context.Context, named string) ([]credential.Issuer, error)
	// Gate limits the memory of messages. Default: one with the default limits.
	Gate *admission.Gate
	// Guard checks hosts and origins. Default: one that knows PublicURL alone.
	Guard *httpserver.Guard
	// KeepAlive is how long a stream may be silent before a comment is sent. Default:
	// 20s.
	KeepAlive time.Duration
	Logger    *slog.Logger
	// LegacySSE enables the transport of 2024-11-05 on SSEPath and MessagePath.
	LegacySSE bool
	// MaxSessions limits the open sessions of one tenant on this instance, on all of its
	// servers. Default: 1000.
	MaxSessions int
	// MaxStreams limits the open streams of one tenant on this instance: GET, and POST of
	// subscriptions/listen. Default: 1000.
	MaxStreams int
	// Methods are methods of the revision 2026-07-28 that the library does not have. Optional.
	Methods map[mcpgo.MCPMethod]Method
	// ListenToTasks returns the tasks of which the stream of a client with these capabilities tells, among those that it
	// asks for. Optional.
	ListenToTasks func(ctx context.Context, has mcpgo.ClientCapabilities, ids []string) (agreed []string, failed *Failure)
	// Missed is called when a client comes back for notifications that are not kept: anything may
	// have changed. Optional.
	Missed func(id tenant.ID, server, session string)
	// Needs returns the scope that a tool needs, by the name that it has on the server of the
	// request. Default: Read for all.
	Needs func(ctx context.Context, tool string) access.Scope
	// PublicURL is the address of the service for clients, without Path. Default: taken
	// from each request, which is right without a proxy.
	PublicURL string
	// Recheck returns an error if the credential that opened a stream is no longer valid.
	// It is the method Recheck of credential.Authenticator. Default: no check.
	Recheck func(context.Context, http.Header) error
	// RecheckEvery is the interval between checks of an open stream's credential.
	// Default: 1m.
	RecheckEvery time.Duration
	// Server creates a server of a tenant, whose name is empty for the default one. It is
	// called again when a tenant returns after its server was dropped.
	Server func(id tenant.ID, name string) *server.MCPServer
	// ResumeFor is how long a stream is kept for a client that lost its connection. Default:
	// 2m.
	ResumeFor time.Duration
	// SessionIdle is how long a session keeps its state without requests and streams.
	// Default: 30m.
	SessionIdle time.Duration
	// SessionKey signs session ids: at least 32 bytes, the same on all instances. With it an id
	// that was never given out is rejected without asking the database. Default: with DB ids are
	// not checked by a signature; without, a random key.
	SessionKey []byte
	// Stateless disables sessions, so that any instance can serve any request. Clients of
	// older revisions then receive only notifications that belong to a request, and no
	// elicitation.
	Stateless bool
	// WriteTimeout limits the time in which a client must receive one write, such as one
	// event of a stream. Default: 30s.
	WriteTimeout time.Duration

	signed bool // SessionKey was given
}

func (c Config) withDefaults() Config {
	if c.Gate == nil {
		c.Gate = admission.New(admission.Config{})
	}
	if c.Enter == nil {
		c.Enter = func(ctx context.Context, name string) (context.Context, error) {
			if name != "" {
				return ctx, fault.New(fault.NotFound, "server not found")
			}
			return ctx, nil
		}
	}
	c.KeepAlive = cmp.Or(c.KeepAlive, 20*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.MaxSessions = cmp.Or(c.MaxSessions, 1000)
	c.MaxStreams = cmp.Or(c.MaxStreams, 1000)
	c.RecheckEvery = cmp.Or(c.RecheckEvery, 10*time.Second)
	c.ResumeFor = cmp.Or(c.ResumeFor, 2*time.Minute)
	c.SessionIdle = cmp.Or(c.SessionIdle, 30*time.Minute)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.signed = len(c.SessionKey) > 0
	if !c.signed {
		c.SessionKey = make([]byte, MinSessionKeyBytes)
		rand.Read(c.SessionKey) // never fails
	}
	return c
}

func (c Config) validate() error {
	if c.Authenticate == nil || c.Server == nil {
		return errors.New("mcphttp: Authenticate and Server are required")
	}
	if len(c.SessionKey) < MinSessionKeyBytes {
		return fmt.Errorf("mcphttp: SessionKey has %d bytes, at least %d are needed", len(c.SessionKey), MinSessionKeyBytes)
	}
	if c.DB != nil && c.Events == nil {
		return errors.New("mcphttp: DB needs Events")
	}
	if c.LegacySSE && c.Stateless {
		return errors.New("mcphttp: LegacySSE needs sessions, and Stateless has none")
	}
	return nil
}

// Handler serves Path and the protected resource metadata. Mount it on
//
//	/mcp and /mcp/
//	/t/
//	/.well-known/
//	/sse, /sse/, /message and /message/, with LegacySSE
//
// of an http.Server whose WriteTimeout is 0, as streams stay open, and call
// Shutdown before the server's own.
type Handler struct {
	cfg     Config
	servers *servers
	routes  http.Handler
}

// New returns a Handler. It owns a goroutine that ends with Shutdown.
func New(cfg Config) (*Handler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Guard == nil {
		var err error
		if cfg.Guard, err = httpserver.NewGuard(httpserver.GuardConfig{PublicURL: cfg.PublicURL}); err != nil {
			return nil, err
		}
	}
	h := &Handler{cfg: cfg, servers: newServers(cfg)}
	mux := http.NewServeMux()
	authenticated := cfg.Authenticate(h.refuse)
	handle := func(path string, serve http.HandlerFunc) {
		serve = h.withResults(serve)
		mux.Handle(path, authenticated(serve))
		mux.Handle(path+named, ofServer(authenticated(serve)))
	}
	handle(Path, h.serve)
	if cfg.LegacySSE {
		handle(SSEPath, h.serveSSE)
		handle(MessagePath, h.serveMessage)
	}
	mux.HandleFunc("/", h.serveUnknown)
	mux.HandleFunc(metadataPath, h.serveMetadata)
	mux.HandleFunc(metadataPath+"/", h.serveMetadata)
	mux.Handle(TenantPath+"{tenant}/", h.named(mux))
	h.routes = cfg.Guard.Handler(mux, h.reject)
	return h, nil
}

// ofServer returns a handler that tells the authentication which server a request is for: an
// access token may be for that server alone.
func ofServer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(credential.WithServer(r.Context(), r.PathValue("server"))))
	})
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tracked := &trackedWriter{ResponseWriter: w}
	defer h.recover(tracked, r)
	h.routes.ServeHTTP(tracked, r)
}

// Shutdown ends all streams, rejects new requests and waits until those in flight are
// answered. If ctx ends first, they are cancelled and its error is returned.
func (h *Handler) Shutdown(ctx context.Context) error { return h.servers.shutdown(ctx) }

// serveUnknown answers requests for other paths.
func (h *Handler) serveUnknown(w http.ResponseWriter, r *http.Request) {
	h.reject(w, r, fault.New(fault.NotFound, "nothing is served at this path: MCP is at %s, and at %s/NAME for a named server", Path, Path))
}

// serve passes an authenticated request to the tenant's MCP server.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	caller, end, err := h.admit(r)
	if err != nil {
		h.reject(w, r, err)
		return
	}
	defer end()
	memory := h.cfg.Gate.Open(caller.Tenant)
	defer memory.Close()
	in, err := h.read(w, r, memory)
	if err != nil {
		h.reject(w, r, err)
		return
	}
	httpserver.Add(r.Context(), "mcp_method", in.method)
	if err := h.admitTool(caller, in); err != nil {
		h.reject(w, r, err)
		return
	}
	if in.cancelsOutsideSession() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if in.detached != nil {
		in.detached.splices = true
	}
	c, err := h.servers.begin(caller, in)
	if err != nil {
		h.reject(w, r, err)
		return
	}
	defer c.end()
	if err := c.restore(); err != nil {
		h.reject(w, r, err)
		return
	}
	if in.endsSession() {
		if err := c.endSession(); err != nil {
			h.reject(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	defer h.recheck(c, r.Header)()
	if in.verb == http.MethodGet && c.resumable() {
		h.listen(w, r, c)
		return
	}
	if m, ok := h.cfg.Methods[in.method]; ok && in.modern && in.hasID {
		h.perform(w, r, c, m)
		return
	}
	if h.refusesTasks(w, c) {
		return
	}
	passed, err := c.pass()
	switch {
	case err != nil:
		h.reject(w, r, err)
	case passed:
		w.WriteHeader(http.StatusAccepted)
	default:
		h.respond(w, r, c, nil)
	}
}

// listen serves a GET: the rest of the stream that the client lost, wherever that is, or a new one.
func (h *Handler) listen(w http.ResponseWriter, r *http.Request, c *call) {
	id, known := parseEventID(r.Header.Get(lastEventHeader))
	if s := c.session.streams.find(id); known && s != nil && h.resume(w, r, c, s, id.number) {
		return
	}
	if err := c.notify(); err != nil {
		h.reject(w, r, err)
		return
	}
	var missed []byte
	if known && c.stored() && id.instance != h.servers.instance {
		var served bool
		if served, missed = h.follow(w, r, c, id); served {
			return
		}
	}
	c.session.streams.endListeners(c.ctx)
	if known && missed == nil && h.cfg.Missed != nil {
		h.cfg.Missed(c.tenant, c.caller.server, c.sessionID)
	}
	h.respond(w, r, c, missed)
}

// respond passes a request to the library and sends what it answers, a stream after the events that
// its client has missed. A stream that can be resumed goes on without its client.
func (h *Handler) respond(w http.ResponseWriter, r *http.Request, c *call, missed []byte) {
	client, gone := context.WithCancel(r.Context())
	defer gone()
	out := newResponse(newConnection(w, h.cfg.KeepAlive, h.cfg.WriteTimeout, gone))
	out.hideSession, out.detached, out.failing, out.modern = h.cfg.Stateless, c.message.detached, c.failing, c.message.modern
	if c.stored() {
		out.instance, out.missed = h.servers.instance, missed
	}
	if c.resumable() {
		primes := r.Header.Get(mcpgo.HeaderProtocolVersion) >= firstPriming
		out.resume = func() *stream {
			return c.session.streams.begin(out.conn, c.message.isStream(), primes, c.cancel)
		}
	}
	defer out.close()
	defer context.AfterFunc(client, func() {
		if s := out.kept(); s != nil {
			s.leave(out.conn)
			c.leaveStream()
		} else {
			c.cancel()
		}
	})()
	if !c.message.isStream() {
		c.ctx = context.WithValue(c.ctx, responseKey{}, out)
		if c.message.hasID && c.resumable() {
			for _, event := range c.session.streams.unheard() {
				out.notify([]byte(event))
			}
		}
	}
	c.server.http.Handle(out, c.request(r))
	if out.unanswered() && c.session != nil && c.session.ctx.Err() != nil {
		h.reject(w, r, errSessionEnded)
		return
	}
	out.finish()
}

// caller is who sends a request, and to which server of the tenant.
type caller struct {
	*access.Request // as it is on the server
	server          string
	owner           owner
	ctx             context.Context // of the request on the server
	outer           context.Context // of the request before it
}

// admit returns the caller of an authenticated request, and a function that must be called
// when the request is answered. Errors: Invalid for an operator without a tenant; Denied
// without the scope read; NotFound for a server that does not exist or may not be used;
// Exhausted over the tenant's limits.
func (h *Handler) admit(r *http.Request) (_ *caller, end func(), err error) {
	c, err := h.callerOf(r)
	if err != nil {
		return nil, nil, err
	}
	begin := h.cfg.Gate.Begin
	if r.Method == http.MethodGet {
		begin = h.cfg.Gate.BeginStream
	}
	leave, err := begin(r.Context(), c.Tenant, c.Quotas)
	if err != nil {
		return nil, nil, err
	}
	ctx, release := h.cfg.Gate.WithMemory(c.ctx, c.Tenant)
	c.ctx = ctx
	return c, func() { release(); leave() }, nil
}

func (h *Handler) callerOf(r *http.Request) (*caller, error) {
	request, ok := access.FromContext(r.Context())
	if !ok {
		return nil, errors.New("mcphttp: the authentication middleware put no request into the context")
	}
	httpserver.Add(r.Context(), "tenant", request.Tenant, "subject", request.Principal.Subject)
	if request.Tenant == "" {
		return nil, fault.Field("Ragd-Tenant", "an operator credential has no tenant of its own: name one in this header")
	}
	if !request.Principal.Has(access.Read) {
		return nil, &access.ScopeError{Need: access.Read, Prefix: request.Principal.ScopePrefix}
	}
	c := &caller{server: r.PathValue("server"), outer: r.Context()}
	c.owner = ownerOf(request, c.server)
	var err error
	if c.ctx, err = h.cfg.Enter(r.Context(), c.server); err != nil {
		return nil, err
	}
	c.Request, _ = access.FromContext(c.ctx)
	return c, nil
}

// admitTool rejects the call of a tool if an access token lacks its scope, so that the
// client can ask its issuer for it. A client with an API key cannot, and gets a tool
// error instead.
func (h *Handler) admitTool(caller *caller, m message) error {
	if m.tool == "" || h.cfg.Needs == nil || !caller.Principal.ByToken {
		return nil
	}
	if need := h.cfg.Needs(caller.ctx, m.tool); !caller.Principal.Has(need) {
		return &access.ScopeError{Need: need, Prefix: caller.Principal.ScopePrefix}
	}
	return nil
}

// recheck ends a stream after its credential has become invalid or its server was deleted; the
// stream stays open while the check itself fails. It returns a function that stops checking.
func (h *Handler) recheck(v *call, header http.Header) (stop func()) {
	if h.cfg.Recheck == nil || !v.message.isStream() {
		return func() {}
	}
	valid, stop := access.WhileValid(v.ctx, h.cfg.RecheckEvery, func(ctx context.Context) error {
		if err := h.cfg.Recheck(ctx, header); err != nil {
			return err
		}
		request, _ := access.FromContext(v.caller.outer)
		_, err := h.cfg.Enter(access.NewContext(ctx, request), v.caller.server)
		return err
	})
	context.AfterFunc(valid, v.cancel)
	return stop
}

// recover answers a request whose handler panicked. A response that has begun is cut off.
func (h *Handler) recover(w *trackedWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if cause, ok := p.(error); ok && errors.Is(cause, http.ErrAbortHandler) {
		panic(p)
	}
	err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	if !w.begun {
		h.reject(w, r, err)
		return
	}
	httpserver.Fail(r.Context(), err)
	panic(http.ErrAbortHandler)
}

// trackedWriter records whether a response has begun.
type trackedWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *trackedWriter) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *trackedWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the writer.
func (w *trackedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
