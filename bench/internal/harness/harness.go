// Package harness is what the programs share that measure a running ragd: how they begin, the service that
// they start, its tenants, and clients that call it with a key.
package harness

import (
	"context"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"slices"

	"connectrpc.com/connect"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
)

// ProgramVar declares the flag -ragd, the path of the binary.
func ProgramVar(path *string) {
	flag.StringVar(path, "ragd", "bin/ragd", "the ragd to start")
}

// Begin parses the flags and returns a context that an interrupt ends.
func Begin() (ctx context.Context, stop context.CancelFunc) {
	log.SetFlags(0)
	flag.Parse()
	return signal.NotifyContext(context.Background(), os.Interrupt)
}

// Main parses the flags and runs the program until it ends or is interrupted. It prints an error and exits
// with 1.
func Main(run func(context.Context) error) {
	ctx, stop := Begin()
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

// Start starts the service of a configuration, which logs warnings alone, and waits until it is ready.
func Start(ctx context.Context, config daemon.Config) (*daemon.Daemon, error) {
	config.Env = slices.Concat([]string{"RAGD_LOG_LEVEL=warn"}, config.Env)
	return daemon.Start(ctx, config)
}

// Tenant creates a tenant and returns the secret of a key with the scopes, admin without any.
func Tenant(ctx context.Context, d *daemon.Daemon, id string, scopes ...string) (secret string, err error) {
	if _, err := tenants(d).CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: id}); err != nil {
		return "", err
	}
	return Key(ctx, d, id, scopes...)
}

// Key returns the secret of a new key of a tenant with the scopes, admin without any.
func Key(ctx context.Context, d *daemon.Daemon, id string, scopes ...string) (secret string, err error) {
	if len(scopes) == 0 {
		scopes = []string{"admin"}
	}
	key, err := tenants(d).CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{TenantId: id, Scopes: scopes})
	return key.GetSecret(), err
}

func tenants(d *daemon.Daemon) ragdv1connect.TenantServiceClient {
	return ragdv1connect.NewTenantServiceClient(http.DefaultClient, d.URL(), WithKey(daemon.OperatorKey))
}

// Connections returns a client that keeps so many connections open.
func Connections(most int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: most}}
}

// WithKey makes each call carry a key.
func WithKey(secret string) connect.ClientOption {
	return WithKeyOf(func(context.Context) string { return secret })
}

// WithKeyOf makes each call carry the key of its context.
func WithKeyOf(secret func(context.Context) string) connect.ClientOption {
	return connect.WithInterceptors(keyed(secret))
}

type keyed func(context.Context) string

// WrapUnary implements connect.Interceptor.
func (k keyed) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		req.Header().Set("Authorization", "Bearer "+k(ctx))
		return next(ctx, req)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (k keyed) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		conn.RequestHeader().Set("Authorization", "Bearer "+k(ctx))
		return conn
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (k keyed) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// OpenMCP begins an MCP session with a key.
func OpenMCP(ctx context.Context, d *daemon.Daemon, connections *http.Client, secret string) (*client.Client, error) {
	headers := map[string]string{"Authorization": "Bearer " + secret}
	c, err := client.NewStreamableHttpClient(d.URL()+"/mcp", transport.WithHTTPHeaders(headers), transport.WithHTTPBasicClient(connections))
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcpgo.InitializeRequest
	hello.Params.ProtocolVersion = mcpgo.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcpgo.Implementation{Name: "bench", Version: "1"}
	_, err = c.Initialize(ctx, hello)
	return c, err
}
