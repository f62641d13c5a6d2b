package operate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
)

func (p *program) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FOLDER",
		Short: "Back up the embedded database",
		Long: `Copy the embedded PostgreSQL of a data directory to a new folder in FOLDER, and verify
the checksum of each file of the copy. "ragd serve" may run meanwhile; if it does not,
the database is started for the backup. Run it as the user of the service, or as root.

The newest backups are kept, as many as --backup-keep says. FOLDER holds those of one
database alone. "ragd serve" makes backups by itself with the setting backup-folder.

The backup contains everything but the file master.key of the data directory and the
settings of ragd: keep these apart. An external database (RAGD_DATABASE_URL) is backed up
with the tools of PostgreSQL.`,
		Example: `  ragd backup /srv/backups
  ragd backup /srv/backups --data-dir /var/lib/ragd --backup-keep 30`,
		Args: command.Arguments("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := p.backupConfig()
			if err != nil {
				return err
			}
			b, err := service.Backup(cmd.Context(), cfg, args[0])
			if err != nil {
				return err
			}
			if p.Out.JSON {
				return p.Out.Value(struct {
					Path string `json:"path"`
					embedded.Backup
				}{b.Path, b})
			}
			output.Note(p.Out.Stdout, "%s: %.1f MiB, verified", b.Path, float64(b.Bytes)/(1<<20))
			if key := filepath.Join(cfg.DataDir, seal.FileName); exists(key) {
				output.Note(p.Out.Stderr, "not in the backup: %s, without which secrets of tenants cannot be read, and the settings of ragd; keep them apart", key)
			}
			return nil
		},
	}
	p.settings.RegisterService(cmd.Flags(), p.Getenv)
	cmd.Flags().BoolVar(&p.Out.JSON, "json", false, "print JSON")
	return cmd
}

func (p *program) restoreCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "restore FOLDER",
		Short: "Restore a backup of the embedded database",
		Long: `Restore the newest backup of FOLDER, or FOLDER itself if it is one backup, to a data
directory without a database. The copy is verified, and recovered by PostgreSQL, before it
is put in its place: a backup that was cut or changed is refused. Run it as the user who
will run "ragd serve".

With --to the state of that moment is restored, if the log was archived (the setting
backup-wal), and with --to latest all that was archived.

Put the file master.key of the old data directory into the new one before "ragd serve".`,
		Example: `  ragd restore /srv/backups --data-dir /var/lib/ragd
  ragd restore /srv/backups --data-dir /var/lib/ragd --to 2026-07-01T11:59:00Z
  ragd restore /srv/backups/20260701T020000Z --data-dir /tmp/look`,
		Args: command.Arguments("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var moment time.Time
			if to != "" && to != "latest" {
				var err error
				if moment, err = time.Parse(time.RFC3339Nano, to); err != nil {
					return misuse.Errorf("to must be a time such as 2026-07-01T11:59:00Z, or latest, not %q", to)
				}
			}
			cfg, err := p.backupConfig()
			if err != nil {
				return err
			}
			b, err := service.Restore(cmd.Context(), cfg, args[0], moment, to == "latest")
			if err != nil {
				return err
			}
			state := b.Ended.Format(time.RFC3339)
			if to != "" {
				state = to
			}
			output.Note(p.Out.Stdout, "%s is restored from %s, with the state of %s", cfg.DataDir, b.Path, state)
			if key := filepath.Join(cfg.DataDir, seal.FileName); !exists(key) {
				output.Note(p.Out.Stderr, "before the first start put the %s of the old data directory there, or set master-key to what it was: without it the secrets of tenants cannot be read", key)
			}
			return nil
		},
	}
	p.settings.RegisterService(cmd.Flags(), p.Getenv)
	cmd.Flags().StringVar(&to, "to", "", "`TIME` to restore, such as 2026-07-01T11:59:00Z, or latest (default the end of the backup)")
	return cmd
}

// backupConfig returns the configuration of the commands about backups.
func (p *program) backupConfig() (service.Config, error) {
	log, err := p.logger()
	if err != nil {
		return service.Config{}, err
	}
	cfg := p.settings.Service
	cfg.Logger = log
	return cfg, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
