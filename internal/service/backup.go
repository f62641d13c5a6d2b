package service

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
)

// BackupConfig says where the embedded database is backed up, and how often.
type BackupConfig struct {
	// Folder receives the backups (see embedded.TakeBackup). Default: none are made.
	Folder string
	// Interval is the time from the beginning of one backup to that of the next, at least
	// MinBackupInterval. Default: DefaultBackupInterval.
	Interval time.Duration
	// Keep is how many of the newest backups are kept; 0 keeps all.
	Keep int
	// Archive copies the write-ahead log to Folder too, so that any moment since the oldest
	// backup can be restored.
	Archive bool
}

const (
	// DefaultBackupInterval is the default of BackupConfig.Interval.
	DefaultBackupInterval = 24 * time.Hour
	// MinBackupInterval is the least BackupConfig.Interval.
	MinBackupInterval = time.Minute
	// backupRetry is the longest pause after a backup that failed.
	backupRetry = 10 * time.Minute
)

// check returns an error unless the configuration makes sense.
func (c BackupConfig) check() error {
	switch {
	case c.Interval < MinBackupInterval:
		return fault.Field("backup-interval", "must be at least %v, not %v", MinBackupInterval, c.Interval)
	case c.Keep < 0:
		return fault.Field("backup-keep", "must be 0 (keep all) or more, not %d", c.Keep)
	case c.Archive && c.Folder == "":
		return fault.Field("backup-wal", "needs backup-folder, where the log is kept")
	}
	return nil
}

// archive returns the folder for the write-ahead log; "" for none.
func (c BackupConfig) archive() string {
	if !c.Archive {
		return ""
	}
	return c.Folder
}

// Backup backs up the embedded database of the data directory to the folder, which need not
// be that of the configuration, and keeps as many backups there as the configuration says.
// If the database does not run, Backup starts it and stops it again. Errors: those of
// embedded.TakeBackup.
func Backup(ctx context.Context, config Config, folder string) (b embedded.Backup, err error) {
	config = config.withDefaults()
	if config.DatabaseURL != "" {
		return b, fault.New(fault.Precondition, "database-url is set: back up an external database with the tools of PostgreSQL")
	}
	address, exists, err := RunningEmbedded(config.DataDir)
	if err != nil {
		return b, err
	}
	if !exists {
		return b, fault.New(fault.Precondition, "there is no database in %s: name its folder with --data-dir", config.DataDir)
	}
	if address == "" {
		server, err := StartEmbedded(ctx, config)
		if err != nil {
			return b, err
		}
		defer func() {
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
			defer cancel()
			_ = server.Stop(stop) // nothing was written that could be lost
		}()
	}
	return takeBackup(ctx, config, folder)
}

func takeBackup(ctx context.Context, config Config, folder string) (embedded.Backup, error) {
	return embedded.TakeBackup(ctx, embedded.BackupConfig{
		DataDir: embeddedDir(config.DataDir), Folder: folder, Keep: config.Backup.Keep, Logger: config.Logger,
	})
}

// Restore restores a backup of an embedded database to the data directory (see
// embedded.Restore). The zero time restores the end of the newest backup; latest all that
// the archived log has.
func Restore(ctx context.Context, config Config, folder string, to time.Time, latest bool) (embedded.Backup, error) {
	config = config.withDefaults()
	return embedded.Restore(ctx, embedded.RestoreConfig{
		Folder: folder, DataDir: embeddedDir(config.DataDir), To: to, Latest: latest, Logger: config.Logger,
	})
}

// runBackups makes the scheduled backups until ctx ends. Only one process runs an embedded
// database, so no other instance makes them too. A restart does not move the schedule.
func (s *Service) runBackups(ctx context.Context) error {
	c := s.config.Backup
	if c.Folder == "" || s.database.embedded == nil {
		return nil
	}
	for ctx.Err() == nil {
		wait := s.untilBackup()
		if wait <= 0 {
			if err := s.backUp(ctx); err != nil {
				wait = min(c.Interval, backupRetry)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

// untilBackup returns the time until the next scheduled backup is due.
func (s *Service) untilBackup() time.Duration {
	all, err := embedded.Backups(s.config.Backup.Folder)
	if err != nil || len(all) == 0 {
		return 0
	}
	return time.Until(all[len(all)-1].Started.Add(s.config.Backup.Interval))
}

// backUp makes a scheduled backup, and logs it.
func (s *Service) backUp(ctx context.Context) error {
	b, err := takeBackup(ctx, s.config, s.config.Backup.Folder)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.log.ErrorContext(ctx, "the scheduled backup failed", "folder", s.config.Backup.Folder, "err", err)
		return err
	}
	s.log.InfoContext(ctx, "backup made", "path", b.Path, "bytes", b.Bytes, "duration_ms", b.Ended.Sub(b.Started).Milliseconds())
	return nil
}
