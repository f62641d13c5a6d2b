package service

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/ragdhq/ragd/internal/api/answerbox"
	"github.com/ragdhq/ragd/internal/api/console"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/api/openai"
	"github.com/ragdhq/ragd/internal/api/openapi"
	"github.com/ragdhq/ragd/internal/api/rpc"
	"github.com/ragdhq/ragd/internal/automation/connector"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/identity"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

// handler returns the HTTP handler of the service: RPC, MCP, the OpenAI-compatible interface, the OpenAPI document, health checks and the console,
// behind the body deadline, tracing and the request log.
func (s *Service) handler() http.Handler {
	mux := http.NewServeMux()
	s.Handlers.Mount(mux, s.guard, s.Credentials.Auth.Middleware(rpc.Refuse()))
	for _, path := range []string{mcphttp.Path, mcphttp.SSEPath, mcphttp.MessagePath} {
		mux.Handle(path, s.mcp)
		mux.Handle(path+"/", s.mcp)
	}
	compatible := s.newOpenAI()
	for _, path := range openai.Paths {
		mux.Handle(path, compatible)
	}
	signIn := s.guard.Handler(http.HandlerFunc(s.Handlers.Connectors.Callback), rpc.Refuse())
	mux.Handle("GET "+connector.CallbackPath, signIn)
	mux.Handle("POST "+connector.CallbackPath, signIn)
	mux.Handle("GET "+connector.ClientPath, s.guard.Handler(http.HandlerFunc(s.Handlers.Connectors.ClientDocument), rpc.Refuse()))
	mux.Handle("GET "+identity.Path, s.guard.Handler(s.issuer, rpc.Refuse()))
	mux.Handle("GET "+openapi.Path, s.guard.Handler(openapi.Document(), rpc.Refuse()))
	mux.Handle(rpc.PushPattern, s.guard.Handler(http.HandlerFunc(s.Handlers.ServePush), rpc.Refuse()))
	mux.Handle("GET "+rpc.PagePath, s.guard.Handler(http.HandlerFunc(s.Handlers.ServePage), rpc.Refuse()))
	mux.Handle(mcphttp.TenantPath, s.mcp)
	mux.Handle("/.well-known/", s.mcp)
	mux.Handle("GET "+answerbox.Path, answerbox.Script())
	s.handleProbes(mux)
	return httpserver.Limit(s.tracing.handler(httpserver.Log(s.config.Logger, s.refusals, s.counter(compatible))(s.withConsole(mux))), s.config.MaxBodyPause)
}

// handleProbes adds the paths at which an orchestrator asks whether the service lives and is ready.
func (s *Service) handleProbes(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
}

// withConsole adds the web page and its sessions to the paths that nothing else answers.
func (s *Service) withConsole(mux *http.ServeMux) http.Handler {
	if s.config.NoConsole {
		return mux
	}
	web := console.New(console.Config{
		Database: s.database.requests, Refuse: rpc.Refuse(), Version: s.config.Version, PublicURL: s.config.MCP.PublicURL,
		Login: s.config.ConsoleLogin,
		Authenticate: func(ctx context.Context, secret string) error {
			_, err := s.Credentials.Auth.Authenticate(ctx, secret)
			return err
		},
	})
	mux.Handle("/console/", s.guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.ServeHTTP(w, r.WithContext(credential.WithClient(r.Context(), r.RemoteAddr)))
	}), rpc.Refuse()))
	for path, handler := range openapi.Page() {
		mux.Handle("GET "+path, s.guard.Handler(handler, rpc.Refuse()))
	}
	page := s.guard.Handler(http.HandlerFunc(web.Page), rpc.Refuse())
	return web.Authorize(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "/" && console.Serves(r) {
			page.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

// readyTimeout bounds the readiness check.
const readyTimeout = 2 * time.Second

// ready answers 200 if the service can answer requests, else 503. What it cannot do it
// says: without space for writes, or with tenants that cannot be served, it still answers
// 200, because everything else goes on. It names no tenants, as anybody may ask.
func (s *Service) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.checkReady(ctx); err != nil {
		if s.stopping.Load() {
			http.Error(w, fault.Public(err), http.StatusServiceUnavailable)
			return
		}
		s.log.WarnContext(ctx, "not ready", "err", err)
		http.Error(w, fault.Public(err), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
	if err := s.storage.Disk(); err != nil {
		fmt.Fprintln(w, "writes are refused:", fault.Public(err))
	}
	health, err := s.Tenants.Health(ctx)
	if err != nil {
		return // checkReady has logged it
	}
	if n := len(health.Unserved); n > 0 {
		fmt.Fprintf(w, "%d of %d tenants cannot be served: run `ragd tenant repair`\n", n, health.Tenants)
	}
	if health.Behind > 0 {
		fmt.Fprintf(w, "%d of %d tenants are not migrated to this version yet\n", health.Behind, health.Tenants)
	}
}

// checkReady returns an error if the service is shutting down, if the database does not answer,
// or if there are tenants and none of them can be served. Errors: Unavailable.
func (s *Service) checkReady(ctx context.Context) error {
	if s.stopping.Load() {
		return httpserver.ErrDraining
	}
	if err := s.database.requests.Ping(ctx); err != nil {
		return fault.Wrap(fault.Unavailable, err, "the database does not answer")
	}
	health, err := s.Tenants.Health(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "looking for tenants that cannot be served failed", "err", err)
		return nil // a slow catalogue is no reason to take no requests
	}
	if n := len(health.Unserved); n > 0 && n == health.Tenants {
		return fault.New(fault.Unavailable, "none of the %d tenants can be served: run `ragd tenant repair`", n)
	}
	return nil
}
