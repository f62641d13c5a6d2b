package operate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/internal/service"
)

func (p *program) databaseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "database COMMAND...",
		Short: "Run a command on the embedded database, without the service",
		Long: `Start the embedded PostgreSQL of a data directory without the service, run a
command, and stop it again. The command finds the database by PGHOST, PGUSER and
PGDATABASE, as a superuser, so that psql, pg_dump and pg_restore need no address.
A data directory that does not exist is created, with an empty database.

While "ragd serve" runs, its database needs no such help: see the page about
backups for the address of its socket. With backup-wal, give the settings of
"ragd serve" here too, so that the archived log has no gap.`,
		Example: `  ragd database psql
  ragd database pg_dump --format=custom --schema=ragd --schema=ragd_shared --schema='tenant_*' --file=ragd.dump
  ragd database --data-dir /srv/copy pg_restore --no-owner --no-privileges --dbname=ragd ragd.dump`,
		Args: command.Arguments("COMMAND..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := p.logger()
			if err != nil {
				return err
			}
			return p.onDatabase(cmd.Context(), log, args)
		},
	}
	cmd.Flags().SetInterspersed(false) // the flags after COMMAND are its own
	p.settings.RegisterService(cmd.Flags(), p.Getenv)
	return cmd
}

// databaseStopTimeout bounds the shutdown of the database after the command has ended.
const databaseStopTimeout = time.Minute

// onDatabase runs a command while the embedded database runs.
func (p *program) onDatabase(ctx context.Context, log *slog.Logger, args []string) (err error) {
	if p.settings.Service.DatabaseURL != "" {
		return misuse.Errorf("database-url is set: the database is not an embedded one, and needs no help to run")
	}
	cfg := p.settings.Service
	cfg.Logger = log
	server, err := service.StartEmbedded(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), databaseStopTimeout)
		defer cancel()
		err = errors.Join(err, server.Stop(stop))
	}()
	address, err := url.Parse(server.AdminURL())
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Out.Stdout, p.Out.Stderr
	query := address.Query()
	cmd.Env = append(os.Environ(), "PGHOST="+query.Get("host"), "PGUSER="+query.Get("user"), "PGDATABASE="+address.Path[1:])
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}
