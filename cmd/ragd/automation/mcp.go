package automation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/build"
	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/stdio"
)

func mcpCommand(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP on standard input and output",
		Long: `Serve MCP on standard input and output, for clients that start their servers
themselves. Messages are passed on to a running service, this machine's or the one
that --server names, with the rights of the key. The client finds what it would find over
HTTP, and is notified of changes. It ends at once if the service does not answer or
refuses the key.`,
		Example: `  ragd mcp
  ragd mcp --mcp-server handbook
  RAGD_API_KEY=... ragd mcp --server https://ragd.example.com`,
		Args: command.Arguments(),
	})
	options := newMCPOptions(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		if _, err := c.Tenants.WhoAmI(ctx, &ragdv1.WhoAmIRequest{}); err != nil {
			return err // the client shows it, unlike errors of calls
		}
		address := c.Server + "/mcp"
		if *options.server != "" {
			address += "/" + url.PathEscape(*options.server)
		}
		if *options.results != "" {
			address += "?results=" + url.QueryEscape(*options.results)
		}
		cfg := stdio.Config{
			URL: address, Client: c.HTTP, Sign: c.Access.Sign, Version: build.Read().Version,
			Logger: slog.New(slog.NewTextHandler(p.Out.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		}
		if err := stdio.Check(ctx, cfg); err != nil {
			return refusedBy(err)
		}
		return stdio.Serve(ctx, cfg, p.Stdin, p.Out.Stdout)
	})
	cmd.AddCommand(mcpInstall(p), mcpUninstall(p), mcpBundle(p))
	return cmd
}

// refusedBy returns the error of an MCP endpoint as one of the API, if it is about the key or the
// connection, else with what the user can do.
func refusedBy(err error) error {
	var refused *stdio.RefusalError
	if !errors.As(err, &refused) {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	switch refused.Status {
	case http.StatusUnauthorized:
		return connect.NewError(connect.CodeUnauthenticated, refused)
	case http.StatusServiceUnavailable:
		return connect.NewError(connect.CodeUnavailable, refused)
	case http.StatusNotFound:
		return fmt.Errorf("%w; --mcp-server names another, `ragd server list` shows which there are", refused)
	}
	return refused
}
