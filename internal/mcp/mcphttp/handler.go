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

	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/httpserver"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Path is where the endpoint is mounted.
const Path = "/mcp"

// Config says what a Handler serves and to whom. Authenticate and Server are
// required; zero means the default for everything else.
type Config struct {
	// AllowedHosts are the names, such as rag.example.com, under which the service
	// may be called; that of PublicURL and this machine's own always may. Default:
	// on a connection from this machine only those, else any; "*" allows all.
	AllowedHosts []string
	// AllowedOrigins are the web origins, such as https://app.example.com, whose
	// pages may call the endpoint; "*" allows all. Pages of this machine and of
	// PublicURL always may, and so does whoever sends no Origin.
	AllowedOrigins []string
	// Authenticate makes the middleware that puts a tenant.Request into the
	// context, or refuses; it is the method Middleware of tenant.Authenticator.
	Authenticate func(refuse func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler
	// AuthorizationServers are the issuers whose tokens are accepted, for the
	// metadata document. None when only API keys are.
	AuthorizationServers []string
	// Forget is told when a tenant's server is dropped; nil for no one. It must not
	// call the Handler.
	Forget func(tenant.ID)
	// KeepAlive is how long a stream may be quiet before a comment is sent.
	// Default: 20s.
	KeepAlive time.Duration
	Logger    *slog.Logger
	// LegacySSE also serves the transport of 2024-11-05 on SSEPath and MessagePath.
	LegacySSE bool
	// MaxBodyBytes bounds a request. Default: 32 MiB, which holds the largest
	// upload as base64.
	MaxBodyBytes int64
	// MaxSessions bounds the open sessions of one tenant on this instance.
	// Default: 1000.
	MaxSessions int
	// MaxStreams bounds the open streams of one tenant on this instance: GET, and
	// POST of subscriptions/listen. Default: 1000.
	MaxStreams int
	// Needs returns the scope that a tool needs; nil when all need Read.
	Needs func(tool string) tenant.Scope
	// PublicURL is the address under which clients know the service, without
	// Path. Default: taken from each request, which is right when no proxy stands
	// in front.
	PublicURL string
	// Recheck says whether a credential that opened a stream is still good; nil for
	// as long as the stream is open. It is the method Recheck of
	// tenant.Authenticator.
	Recheck func(context.Context, http.Header) error
	// RecheckEvery is how often an open stream's credential is checked. Default: 1m.
	RecheckEvery time.Duration
	// RequestRate is how many requests a second one credential may make over time;
	// twice as many at once. Default: no limit.
	RequestRate int
	// Server makes the MCP server of a tenant. It is called again when a tenant
	// returns after a long silence.
	Server func(tenant.ID) *server.MCPServer
	// SessionIdle is how long a session without a request or a stream keeps its
	// state. Default: 30m.
	SessionIdle time.Duration
	// SessionKey signs session ids: at least 32 bytes, the same on all instances.
	// Default: a random one, so that sessions end with the process.
	SessionKey []byte
	// Stateless opens no sessions, so that the requests of any client may go to any
	// instance. Clients of older revisions then get no notifications but those that
	// belong to a request, and are not asked anything back.
	Stateless bool
	// WriteTimeout is how long a client may take to receive what is written in
	// one go, such as one event of a stream. Default: 30s.
	WriteTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.KeepAlive = cmp.Or(c.KeepAlive, 20*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.MaxBodyBytes = cmp.Or(c.MaxBodyBytes, 32<<20)
	c.MaxSessions = cmp.Or(c.MaxSessions, 1000)
	c.MaxStreams = cmp.Or(c.MaxStreams, 1000)
	c.RecheckEvery = cmp.Or(c.RecheckEvery, time.Minute)
	c.SessionIdle = cmp.Or(c.SessionIdle, 30*time.Minute)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	if len(c.SessionKey) == 0 {
		c.SessionKey = make([]byte, minSessionKeyBytes)
		rand.Read(c.SessionKey) // never fails
	}
	return c
}

func (c Config) validate() error {
	if c.Authenticate == nil || c.Server == nil {
		return errors.New("mcp front: Authenticate and Server are required")
	}
	if len(c.SessionKey) < minSessionKeyBytes {
		return fmt.Errorf("mcp front: SessionKey has %d bytes, at least %d are needed", len(c.SessionKey), minSessionKeyBytes)
	}
	if c.RequestRate < 0 {
		return fmt.Errorf("mcp front: RequestRate is %d, less than 0", c.RequestRate)
	}
	if c.LegacySSE && c.Stateless {
		return errors.New("mcp front: LegacySSE needs sessions, and Stateless has none")
	}
	return nil
}

// Handler serves Path and the protected resource metadata. Mount it on
//
//	/mcp
//	/.well-known/oauth-protected-resource
//	/.well-known/oauth-protected-resource/mcp
//	/sse and /message, with LegacySSE
//
// of an http.Server whose WriteTimeout is 0, as streams stay open, and call
// Shutdown before the server's own.
type Handler struct {
	cfg     Config
	large   *tenant.Quota
	limits  *limits
	origins origins
	rooms   *rooms
	routes  http.Handler
}

// New returns a Handler. It owns a goroutine that ends with Shutdown.
func New(cfg Config) (*Handler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	allowed, err := parseOrigins(append([]string{cfg.PublicURL}, cfg.AllowedOrigins...))
	if err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, limits: newLimits(cfg.RequestRate), origins: allowed, rooms: newRooms(cfg), large: newLarge()}
	mux := http.NewServeMux()
	authenticated := cfg.Authenticate(h.refuse)
	mux.Handle(Path, authenticated(http.HandlerFunc(h.serve)))
	if cfg.LegacySSE {
		mux.Handle(SSEPath, authenticated(http.HandlerFunc(h.serveSSE)))
		mux.Handle(MessagePath, authenticated(http.HandlerFunc(h.serveMessage)))
	}
	mux.HandleFunc(metadataPath, h.serveMetadata)
	mux.HandleFunc(metadataPath+Path, h.serveMetadata)
	h.routes = newHosts(cfg).guard(h.origins.guard(mux, h.reject), h.reject)
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tracked := &trackedWriter{ResponseWriter: w}
	defer h.recover(tracked, r)
	h.routes.ServeHTTP(tracked, r)
}

// Shutdown ends all streams, refuses new requests and waits until those in
// flight are answered. When ctx ends first they are cancelled, and its error is
// returned.
func (h *Handler) Shutdown(ctx context.Context) error { return h.rooms.shutdown(ctx) }

// serve hands an authenticated request to the tenant's MCP server.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	caller, err := h.admit(r)
	if err != nil {
		h.reject(w, r, err)
		return
	}
	place := &hold{large: h.large, of: caller.Tenant}
	defer place.release()
	in, err := h.read(w, r, place)
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
	visit, err := h.rooms.enter(r.Context(), caller, in)
	if err != nil {
		h.reject(w, r, err)
		return
	}
	defer visit.leave()
	if in.endsSession() {
		visit.endSession()
		w.WriteHeader(http.StatusNoContent)
		return
	}
	defer h.recheck(visit, r.Header)()
	out := newResponse(w, h.cfg.KeepAlive, h.cfg.WriteTimeout, visit.cancel)
	out.hideSession = h.cfg.Stateless
	defer out.close()
	visit.room.http.Handle(out, visit.request(r))
	out.finish()
}

// admit returns the caller of an authenticated request, if it may make one now.
// Errors: Invalid for an operator without a tenant; Exhausted.
func (h *Handler) admit(r *http.Request) (*tenant.Request, error) {
	caller, ok := tenant.FromContext(r.Context())
	if !ok {
		return nil, errors.New("mcp front: the authentication middleware put no request into the context")
	}
	httpserver.Add(r.Context(), "tenant", caller.Tenant, "subject", caller.Principal.Subject)
	if caller.Tenant == "" {
		return nil, fault.Field("Ragd-Tenant", "an operator credential has no tenant of its own: name one in this header")
	}
	if !caller.Principal.Has(tenant.Read) {
		return nil, &tenant.ScopeError{Need: tenant.Read}
	}
	return caller, h.limits.take(ownerOf(caller))
}

// admitTool refuses the call of a tool for which an access token lacks a scope, so
// that the client can ask its issuer for it. The holder of an API key cannot, and
// gets the tool's answer.
func (h *Handler) admitTool(caller *tenant.Request, m message) error {
	if m.tool == "" || h.cfg.Needs == nil || !caller.Principal.ByToken {
		return nil
	}
	if need := h.cfg.Needs(m.tool); !caller.Principal.Has(need) {
		return &tenant.ScopeError{Need: need}
	}
	return nil
}

// recheck ends a stream soon after its credential did, and leaves it open while
// that cannot be told. It returns a function that stops checking.
func (h *Handler) recheck(v *visit, header http.Header) (stop func()) {
	if h.cfg.Recheck == nil || !v.message.isStream() {
		return func() {}
	}
	ticker := time.NewTicker(h.cfg.RecheckEvery)
	go func() {
		for {
			select {
			case <-ticker.C:
				switch fault.KindOf(h.cfg.Recheck(v.ctx, header)) {
				case fault.Unauthenticated, fault.Denied, fault.NotFound:
					v.cancel()
				}
			case <-v.ctx.Done():
				return
			}
		}
	}()
	return ticker.Stop
}

// recover answers for a panic below. A response that has begun can only be cut
// off.
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

// trackedWriter knows whether a response has begun.
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
