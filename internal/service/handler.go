package service

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/httpserver"
	"github.com/ragdhq/ragd/internal/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/rpc"
)

// handler returns the HTTP handler of the service: RPC, MCP and health checks, behind
// the body deadline, tracing and the request log.
func (s *Service) handler() http.Handler {
	mux := http.NewServeMux()
	s.Handlers.Mount(mux, s.guard, s.gate, s.Tenants.Auth.Middleware(rpc.Refuse()))
	for _, path := range []string{mcphttp.Path, mcphttp.SSEPath, mcphttp.MessagePath, "/.well-known/"} {
		mux.Handle(path, s.mcp)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	return httpserver.Limit(s.tracing.handler(httpserver.Log(s.config.Logger)(mux)), s.config.MaxBodyPause)
}

// readyTimeout bounds the readiness check.
const readyTimeout = 2 * time.Second

// ready answers 200 if the database answers, else 503. Without space for writes it answers
// 200, because reads go on, and says so.
func (s *Service) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.database.requests.Ping(ctx); err != nil {
		s.log.WarnContext(ctx, "not ready", "err", err)
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
	if err := s.storage.Disk(); err != nil {
		fmt.Fprintln(w, "writes are refused:", fault.Public(err))
	}
}
