package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// RestoreConfig says what to restore, and where to.
type RestoreConfig struct {
	// Folder is a folder of backups, or one backup in it.
	Folder string
	// DataDir is the folder of the server that will run on the restored cluster. It must
	// have none.
	DataDir string
	// To is the moment whose state is restored, from the newest backup that ended before
	// it and the archived log. The zero time is the end of the newest backup.
	To time.Time
	// Latest restores the newest backup and all of the archived log instead.
	Latest bool
	Logger *slog.Logger // default slog.Default()
}

// Restore copies a backup to a data directory, verifies the copy, lets PostgreSQL recover it
// to the wanted moment and stops that server. The restored cluster continues on a timeline
// of its own, so its archived log does not mix with that of the cluster that was backed up.
// If it fails, the data directory has no cluster.
//
// Errors: Precondition if the data directory has a cluster, if no whole backup is old enough,
// if the backup or the archived log is damaged, or if the log ends before the moment.
func Restore(ctx context.Context, cfg RestoreConfig) (b Backup, err error) {
	if err := supported(); err != nil {
		return b, err
	}
	dataDir, err := filepath.Abs(cfg.DataDir)
	if cfg.DataDir == "" || err != nil {
		return b, fault.New(fault.Invalid, "the data directory %q is not a valid path", cfg.DataDir)
	}
	b, folder, err := choseBackup(cfg)
	if err != nil {
		return b, err
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return b, notWritable(dataDir, err)
	}
	lock, err := lockDir(dataDir)
	if err != nil {
		return b, err
	}
	defer func() { _ = unlockDir(lock) }()
	target := filepath.Join(dataDir, clusterName)
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return b, fault.New(fault.Precondition, "%s has a database, which is not overwritten: move it away, or restore to another data directory", dataDir)
	}
	if err := needSpace(dataDir, b.Bytes); err != nil {
		return b, err
	}
	fresh := target + newSuffix + rand.Text()[:8] // an interrupted one is removed like an interrupted initdb
	if err := restoreInto(ctx, cfg, b, filepath.Join(folder, archiveName), fresh); err != nil {
		return b, errors.Join(err, os.RemoveAll(fresh))
	}
	if err := os.Rename(fresh, target); err != nil {
		return b, notWritable(dataDir, err)
	}
	return b, syncDir(dataDir)
}

// choseBackup returns the backup to restore and the folder of backups that it is in.
func choseBackup(cfg RestoreConfig) (b Backup, folder string, err error) {
	folder, err = filepath.Abs(cfg.Folder)
	if cfg.Folder == "" || err != nil {
		return b, "", fault.New(fault.Invalid, "the folder of backups %q is not a valid path", cfg.Folder)
	}
	all := []Backup{}
	if b, err := readBackup(folder); err == nil {
		folder, all = filepath.Dir(folder), append(all, b)
	} else if all, err = Backups(folder); err != nil {
		return b, "", err
	}
	if len(all) == 0 {
		return b, "", fault.New(fault.Precondition, "%s has no whole backup: an interrupted one has no %s", folder, backupFile)
	}
	if cfg.To.IsZero() {
		return all[len(all)-1], folder, nil
	}
	for _, candidate := range all {
		if !candidate.Ended.After(cfg.To) {
			b = candidate
		}
	}
	if b.Path == "" {
		return b, "", fault.New(fault.Precondition, "the oldest backup of %s ended at %s, after %s: choose a later time",
			cfg.Folder, all[0].Ended.Format(time.RFC3339), cfg.To.UTC().Format(time.RFC3339))
	}
	return b, folder, nil
}

// restoreInto makes a recovered cluster in the folder fresh.
func restoreInto(ctx context.Context, cfg RestoreConfig, b Backup, archive, fresh string) error {
	source := filepath.Join(b.Path, clusterName)
	major, err := clusterMajor(source)
	if err != nil {
		return err
	}
	if major == 0 {
		return fault.New(fault.Precondition, "the backup %s is damaged: its file PG_VERSION is missing", b.Path)
	}
	install, err := choose(Find(), major, b.Path)
	if err != nil {
		return err
	}
	if err := copyTree(ctx, source, fresh); err != nil {
		return fmt.Errorf("copy the backup %s: %w", b.Path, err)
	}
	if err := (&cluster{install: install}).verify(ctx, fresh); err != nil {
		return fmt.Errorf("%s: %w", b.Path, err)
	}
	if err := os.Remove(filepath.Join(fresh, socketName+".lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // it names the process of the server that was copied, which may still run
	}
	segments, histories, err := archived(archive, b.FirstWAL)
	if err != nil {
		return folderFault(archive, err)
	}
	settings := map[string]string{
		// The segments are in the cluster, where the server looks for them if this fails.
		"restore_command": "exit 1",
		"archive_mode":    "off",
		// A standby that answers would need as many connections as the old machine allowed.
		"hot_standby":            "off",
		"recovery_target_action": "promote",
	}
	switch {
	case cfg.Latest:
	case cfg.To.IsZero():
		segments, settings["recovery_target"] = nil, "immediate"
	default:
		settings["recovery_target_time"] = cfg.To.UTC().Format("2006-01-02 15:04:05.999999+00")
	}
	if err := unpack(ctx, archive, append(histories, segments...), filepath.Join(fresh, "pg_wal")); err != nil {
		return err
	}
	return recoverCluster(ctx, fresh, settings, cmp.Or(cfg.Logger, slog.Default()))
}

// recoverCluster runs a server on a copied cluster until it has recovered to its target, and
// stops it. It leaves the cluster as one that was shut down.
func recoverCluster(ctx context.Context, dir string, settings map[string]string, log *slog.Logger) error {
	if err := writeSynced(filepath.Join(dir, "recovery.signal"), nil); err != nil {
		return err
	}
	c, err := openCluster(dir)
	if err != nil {
		return err
	}
	if c.socketDir != dir {
		defer os.Remove(c.socketDir)
	}
	if err := c.account.own(dir); err != nil {
		return err
	}
	if err := c.configure(settings); err != nil {
		return err
	}
	runtime.LockOSThread() // Linux signals the server when the thread that started it ends
	defer runtime.UnlockOSThread()
	s := &Server{cluster: c, log: log}
	p, err := s.launch(ctx)
	if err != nil {
		if strings.Contains(err.Error(), "recovery ended before configured recovery target was reached") {
			return fault.Wrap(fault.Precondition, err, "the archived log ends before %s: choose an earlier time, or the latest that there is", settings["recovery_target_time"])
		}
		return fault.Wrap(fault.Precondition, err, "PostgreSQL could not recover the backup: %v", err)
	}
	p.stop()
	if p.cmd.ProcessState.ExitCode() != 0 {
		return fmt.Errorf("stop the recovered PostgreSQL: %w", p.failure())
	}
	return c.configure(nil)
}

// copyTree copies a folder with its folders and files to a new one, closed to others,
// and syncs it to disk.
func copyTree(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case d.IsDir():
			return os.Mkdir(target, 0o700)
		case !d.Type().IsRegular():
			return fault.New(fault.Precondition, "%s is neither a file nor a folder, so it is not of a backup", path)
		}
		return copyFile(path, target)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if errors.Is(err, syscall.ENOSPC) {
		err = fault.Wrap(fault.Precondition, err, "the disk of %s is full", filepath.Dir(to))
	}
	return errors.Join(err, out.Sync(), out.Close())
}
