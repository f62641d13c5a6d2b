// Command mcp-conformance is a server for the official MCP conformance suite, with the tools,
// resources and prompts that the suite prescribes. It uses the product's HTTP transport,
// internal/mcp/mcphttp, so the suite tests that transport. Run it with
// hack/mcp-conformance.sh. It is not part of the product.
//
// The suite cannot send a credential, so all callers are admitted.
package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/tenant"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: conformance ADDRESS")
		os.Exit(2)
	}
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address string) error {
	handler, err := mcphttp.New(mcphttp.Config{
		Authenticate: letIn,
		Logger:       slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Server:       func(tenant.ID, string) *server.MCPServer { return newServer() },
	})
	if err != nil {
		return err
	}
	s := &http.Server{Addr: address, Handler: withErrors(handler), ReadHeaderTimeout: 10 * time.Second}
	return s.ListenAndServe()
}

// letIn authenticates every caller as the same user.
func letIn(func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request := &tenant.Request{Tenant: "suite", Principal: tenant.Principal{Subject: "suite", Tenant: "suite", Scopes: []tenant.Scope{tenant.Read}}}
			next.ServeHTTP(w, r.WithContext(tenant.NewContext(r.Context(), request)))
		})
	}
}

func newServer() *server.MCPServer {
	s := server.NewMCPServer("ragd-conformance", "1",
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithCompletions(),
		server.WithLogging(),
		server.WithElicitation(),
		server.WithRoots(),
	)
	s.EnableSampling()
	addContentTools(s)
	addNotifyingTools(s)
	addAskingTools(s)
	addResources(s)
	addPrompts(s)
	return s
}
