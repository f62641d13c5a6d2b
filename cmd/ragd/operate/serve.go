package operate

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/memory"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/internal/service"
)

func (p *program) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: strings.TrimSpace(`
Run the service: Connect, gRPC, gRPC-Web and MCP on one address.

Without RAGD_DATABASE_URL it runs a PostgreSQL of its own in the data directory,
from the server binaries that are installed on the machine ("ragd doctor --fix" installs
what is missing), and stops it again.

The first start prints an operator key, once, unless RAGD_OPERATOR_KEY says which
key to take. With a database of its own it also makes a tenant, and writes
address and keys to client.conf in the configuration folder, so that the other
commands need no flags. Each data directory has a section there. If the keys of a
data directory are lost, the next start makes new ones.

The first start of a service with a database of its own fetches an embedding model,
so that search understands meaning, if models-dir has none and the hub answers
within three seconds. Else search compares words. --offline fetches nothing.`),
		Example: `  ragd serve
  RAGD_DATABASE_URL=postgres://ragd@db.internal/ragd ragd serve --listen :8484`,
		Args: command.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := p.logger()
			if err != nil {
				return err
			}
			for _, u := range p.settings.Unused(cmd.Flags().Changed) {
				log.WarnContext(cmd.Context(), "setting without effect", "setting", u.Setting, "reason", u.Reason)
			}
			return p.serve(cmd.Context(), log, func(address string) { output.Note(p.Out.Stderr, "ragd is ready at %s", address) })
		},
	}
	p.settings.RegisterService(cmd.Flags(), p.Getenv)
	p.settings.RegisterServe(cmd.Flags())
	return cmd
}

// serve runs the service until ctx ends. It calls ready with the address when the service can be
// called and the keys of a first start are written down.
func (p *program) serve(ctx context.Context, log *slog.Logger, ready func(address string)) (err error) {
	memory.Limit(os.DirFS("/"), p.Getenv)
	memory.CollectLess(p.Getenv)
	go memory.KeepSpare(ctx)
	cfg, err := p.settings.ServiceConfig(log)
	if err != nil {
		return err
	}
	if err := p.fetchFirstModel(ctx, p.firstModel()); err != nil {
		return err
	}
	var local *registration
	if cfg.DatabaseURL == "" && cfg.OperatorKey == "" {
		if local, err = p.register(); err != nil {
			return err
		}
	}
	s, err := service.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := p.welcome(ctx, s, local, log); err != nil {
		return err
	}
	ready(s.URL())
	defer reloadOnHangup(ctx, s)()
	return s.Run(ctx)
}

// reloadOnHangup lets the signal HUP reload the service, until stop.
func reloadOnHangup(ctx context.Context, s *service.Service) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			s.Reload(ctx)
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
	}
}

// welcome makes the credentials of a first start. With an embedded database it writes them
// to client.conf, where the client commands of this user find them; otherwise local is nil,
// and it prints the operator key.
func (p *program) welcome(ctx context.Context, s *service.Service, local *registration, log *slog.Logger) error {
	if local == nil {
		secret, err := s.Credentials.EnsureOperatorKey(ctx)
		if secret != "" {
			output.Note(p.Out.Stdout, "operator key (shown once, keep it safe): %s", secret)
		}
		return err
	}
	client := local.client
	client.Server = p.clientURL(s.URL())
	made, err := s.Bootstrap(ctx, p.settings.FirstTenant, client.OperatorKey)
	if err != nil {
		return err
	}
	if made.OperatorKey == "" {
		if err := client.Write(local.path); err != nil { // the commands may not find it, but it works
			log.WarnContext(ctx, "the address of the service could not be written to client.conf: client commands need --server", "err", err)
		}
		return nil
	}
	client.Tenant, client.APIKey, client.OperatorKey = made.Tenant, made.TenantKey, made.OperatorKey
	if err := client.Write(local.path); err != nil {
		return err
	}
	output.Note(p.Out.Stdout, "operator key (keep it safe): %s", made.OperatorKey)
	if made.Tenant == "" {
		output.Note(p.Out.Stdout, "the operator key is in %s", local.path)
		return nil
	}
	output.Note(p.Out.Stdout, "tenant %q: its key and the operator key are in %s", made.Tenant, local.path)
	return nil
}

// clientURL returns the address at which clients on this machine reach a service that listens at
// an address.
func (p *program) clientURL(address string) string {
	if !p.settings.Service.TLS.IsZero() && p.settings.Service.MCP.PublicURL != "" {
		return p.settings.Service.MCP.PublicURL // the name in the certificate
	}
	return localURL(address)
}

// logger returns the service's logger, which writes to stderr at the configured level:
// plain text on a terminal, else JSON lines.
func (p *program) logger() (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(p.settings.LogLevel)); err != nil {
		return nil, misuse.Errorf("log-level must be debug, info, warn or error, not %q", p.settings.LogLevel)
	}
	options := &slog.HandlerOptions{Level: least}
	if p.StderrTerminal {
		return slog.New(slog.NewTextHandler(p.Out.Stderr, options)), nil
	}
	return slog.New(slog.NewJSONHandler(p.Out.Stderr, options)), nil
}
