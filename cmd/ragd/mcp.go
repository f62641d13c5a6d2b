package main

import (
	"context"
	"log/slog"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/internal/mcp"
)

func (p *program) mcpCommand() *cobra.Command {
	return p.clientFlags(&cobra.Command{
		Use:   "mcp",
		Short: "Serve the MCP tools on standard input and output",
		Long: `Serve the MCP tools on standard input and output, for clients that start their
servers themselves. The tools work on a running service, this machine's or the one
that --server names, with the rights of the key, and are those that the key may use. It ends at once if
the service does not answer or refuses the key.`,
		Example: `  ragd mcp
  RAGD_API_KEY=... ragd mcp --server https://ragd.example.com`,
		Args: arguments(),
		RunE: p.call(credentials.forTenant, func(ctx context.Context, c *client, _ []string) error {
			api := mcp.NewClient(c.http, c.server, connect.WithInterceptors(c.access))
			readOnly, err := mcp.ReadsOnly(ctx, api)
			if err != nil {
				return err // the client shows it, unlike errors of calls
			}
			return mcp.ServeStdio(ctx, mcp.Config{
				API: api, ReadOnly: readOnly,
				Logger:  slog.New(slog.NewTextHandler(p.out.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
				Version: readBuild().Version,
			}, p.stdin, p.out.Stdout)
		}),
	})
}
