package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/httpserver"
	"github.com/ragdhq/ragd/internal/tenant"
)

func (p *program) serveCommand() *cobra.Command {
	settings := serviceSettings{getenv: p.getenv}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: strings.TrimSpace(`
Run the service: Connect, gRPC, gRPC-Web and MCP on one address.

Without RAGD_DATABASE_URL it runs a PostgreSQL of its own in the data directory,
from the server binaries that are installed on the machine ("make deps" installs
what is missing), and stops it again.

The first start prints an operator key, once, unless RAGD_OPERATOR_KEY says which
key to take. With a database of its own it also makes a tenant, and
writes address and keys to client.conf in the configuration folder, so that the
other commands need no flags.`),
		Example: `  ragd serve
  RAGD_DATABASE_URL=postgres://ragd@db.internal/ragd ragd serve --listen :8484`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLogger(p.stderr, p.animates, settings.LogLevel)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), settings, log)
		},
	}
	settings.register(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&settings.Listen, "listen", "127.0.0.1:8484", "address to answer on")
	flags.StringVar(&settings.FirstTenant, "first-tenant", "default", "tenant that the first start makes in a database of its own")
	flags.StringVar(&settings.PublicURL, "public-url", "", "address under which clients know the service (default: as each request names it)")
	flags.StringSliceVar(&settings.AllowedOrigins, "allowed-origins", nil, "web origins whose pages may call /mcp, besides this machine's")
	flags.StringSliceVar(&settings.AllowedHosts, "allowed-hosts", nil, "host names under which /mcp may be called (default: from this machine its own and the public one, else any)")
	flags.IntVar(&settings.MCPRequestRate, "mcp-request-rate", 1000, "requests a second that one credential may make to /mcp, twice as many at once; 0 for no limit")
	flags.BoolVar(&settings.MCPLegacySSE, "mcp-legacy-sse", false, "serve the MCP transport of 2024-11-05 too, on /sse and /message")
	flags.BoolVar(&settings.MCPStateless, "mcp-stateless", false, "open no MCP sessions, so that requests may go to any instance")
	flags.StringVar(&settings.SessionKey, "session-key", "", "")
	settings.registerOAuth(flags)
	settings.Traces.register(flags)
	markSettings(flags, "listen", "first-tenant", "public-url", "allowed-origins", "allowed-hosts",
		"mcp-request-rate", "mcp-legacy-sse", "mcp-stateless")
	markSecrets(flags, "session-key")
	return cmd
}

// serve runs everything until ctx ends, then lets what is running finish.
func (p *program) serve(ctx context.Context, settings serviceSettings, log *slog.Logger) (err error) {
	// Nothing is started before the address is ours.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", settings.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", settings.Listen, err)
	}
	defer listener.Close()
	s, err := newService(ctx, settings, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	address := "http://" + listener.Addr().String()
	if err := p.welcome(ctx, s, address, settings.FirstTenant); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.backlog.Run(groupCtx, s.worker.Process) })
	group.Go(func() error { return s.events.Run(groupCtx) })
	group.Go(func() error {
		return serveHTTP(groupCtx, listener, httpserver.Limit(s.handler(), httpserver.MaxPause), s.mcp.Shutdown)
	})
	note(p.stderr, "ragd is ready at %s", address)
	err = group.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to stop while something was still starting
	}
	return err
}

// drainTimeout is how long running requests may finish on shutdown.
const drainTimeout = 10 * time.Second

// serveHTTP answers on the listener until ctx ends. Requests that run then have
// half the drain time to finish before their contexts end too. What streams
// without an end is ended at once by endStreams.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler, endStreams func(context.Context) error) error {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:           handler,
		Protocols:         protocols,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		time.AfterFunc(drainTimeout/2, cancel)
		limit, done := context.WithTimeout(context.Background(), drainTimeout)
		defer done()
		stopped <- errors.Join(endStreams(limit), server.Shutdown(limit))
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	err := <-stopped
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close() // whoever has not sent a request by now, or not taken the answer, does not count
	}
	return err
}

// welcome prints the operator key if it was just made and, for a database of our
// own, leaves the client commands of this user what they need.
func (p *program) welcome(ctx context.Context, s *service, address, name string) error {
	secret, err := s.tenants.EnsureOperatorKey(ctx)
	if err != nil || secret == "" {
		return err
	}
	note(p.stdout, "operator key (shown once, keep it safe): %s", secret)
	if s.embedded == nil {
		return nil
	}
	operator := tenant.NewContext(ctx, &tenant.Request{
		Principal: tenant.Principal{Subject: "ragd serve", Scopes: []tenant.Scope{tenant.Operator}},
	})
	if _, err := s.tenants.Create(operator, name, "", nil); err != nil {
		return err
	}
	_, key, err := s.tenants.CreateKey(operator, tenant.NewKey{
		TenantID: name, DisplayName: "client.conf", Scopes: []string{string(tenant.Admin)},
	})
	if err != nil {
		return err
	}
	path, err := p.clientConfigPath()
	if err != nil {
		return err
	}
	client := clientConfig{Server: address, Tenant: name, APIKey: key, OperatorKey: secret}
	if err := client.write(path); err != nil {
		return err
	}
	note(p.stdout, "made the tenant %q; its key and the operator key are in %s", name, path)
	return nil
}
