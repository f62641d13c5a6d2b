//go:build unix

package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// archiving starts a server that archives its log in a folder of backups.
func archiving(t *testing.T, dir, folder string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Config{DataDir: dir, Archive: folder, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

// openTemp returns a folder of the test that the server's user may pass through.
func openTemp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func takeBackup(t *testing.T, dir, folder string, keep int) Backup {
	t.Helper()
	b, err := TakeBackup(t.Context(), BackupConfig{DataDir: dir, Folder: folder, Keep: keep, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// write adds a row with this name and returns a moment after its commit and before later writes.
func write(t *testing.T, s *Server, name string) time.Time {
	t.Helper()
	mustQuery(t, s.AdminURL(), `WITH made AS (INSERT INTO written (name) VALUES ('`+name+`') RETURNING name) SELECT name FROM made`)
	moment := mustQuery(t, s.AdminURL(), `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`)
	at, err := time.Parse(time.RFC3339Nano, moment)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func makeTable(t *testing.T, s *Server) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `CREATE TABLE written (name text PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
}

// restored restores to a new data directory, and returns the names that are in it.
func restored(t *testing.T, cfg RestoreConfig) string {
	t.Helper()
	cfg.DataDir, cfg.Logger = t.TempDir(), slog.New(slog.DiscardHandler)
	if _, err := Restore(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(cfg.DataDir + "/*.new-*"); left != nil {
		t.Errorf("the restore left %v", left)
	}
	s := start(t, cfg.DataDir)
	defer stop(t, s)
	if got := mustQuery(t, s.AdminURL(), `SELECT current_setting('archive_mode') || current_setting('hot_standby') || current_setting('restore_command') || pg_is_in_recovery()::text`); got != "offonfalse" {
		t.Errorf("the restored server has archive_mode, hot_standby, restore_command and recovery %s", got)
	}
	return names(t, s)
}

func names(t *testing.T, s *Server) string {
	t.Helper()
	return mustQuery(t, s.AdminURL(), `SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM written`)
}

func TestABackupIsRestoredAfterAKill(t *testing.T) {
	t.Parallel()
	dir, folder := clusterDir(t), filepath.Join(t.TempDir(), "it's 100% of a\\folder [*]")
	s := start(t, dir)
	makeTable(t, s)
	write(t, s, "before")
	b := takeBackup(t, dir, folder, 0)
	write(t, s, "after")
	if err := syscall.Kill(postmasterPid(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if b.Bytes < 1<<20 || b.Ended.Before(b.Started) || b.Server != s.cluster.install.Version {
		t.Errorf("the backup is described as %+v", b)
	}
	for _, from := range []string{folder, b.Path} {
		if got := restored(t, RestoreConfig{Folder: from}); got != "before" {
			t.Errorf("restored from %s: %q, want what was written before the backup", from, got)
		}
	}
	if _, err := Restore(t.Context(), RestoreConfig{Folder: folder, DataDir: dir}); fault.KindOf(err) != fault.Precondition && !strings.Contains(err.Error(), "in use") {
		t.Errorf("a restore below a running server: %v", err)
	}
	stop(t, s)
	_, err := Restore(t.Context(), RestoreConfig{Folder: folder, DataDir: dir})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "has a database, which is not overwritten") {
		t.Errorf("a restore over a database: %v", err)
	}
}

func TestADamagedBackupIsRefused(t *testing.T) {
	t.Parallel()
	dir, folder := clusterDir(t), t.TempDir()
	makeTable(t, start(t, dir))
	b := takeBackup(t, dir, folder, 0)
	biggest, size := "", int64(0)
	err := filepath.WalkDir(filepath.Join(b.Path, "cluster", "base"), func(path string, d os.DirEntry, err error) error {
		if info, failed := d.Info(); err == nil && failed == nil && !d.IsDir() && info.Size() > size {
			biggest, size = path, info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(biggest)
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte{}, content...)
	changed[size/2] ^= 1
	for name, damage := range map[string]func() error{
		"a file was cut":     func() error { return os.Truncate(biggest, size/2) },
		"a bit has flipped":  func() error { return os.WriteFile(biggest, changed, 0o600) },
		"a file is missing":  func() error { return os.Remove(biggest) },
		"no manifest":        func() error { return os.Rename(filepath.Join(b.Path, "cluster", "backup_manifest"), folder+"/m") },
		"it was interrupted": func() error { return os.Rename(filepath.Join(b.Path, "backup.json"), folder+"/b") },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		target := t.TempDir()
		_, err := Restore(t.Context(), RestoreConfig{Folder: folder, DataDir: target, Logger: slog.New(slog.DiscardHandler)})
		if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "no whole backup") {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := filepath.Glob(target + "/cluster*"); left != nil {
			t.Errorf("%s: the refused restore left %v", name, left)
		}
		_ = os.Rename(folder+"/m", filepath.Join(b.Path, "cluster", "backup_manifest"))
		_ = os.Rename(folder+"/b", filepath.Join(b.Path, "backup.json"))
		if err := os.WriteFile(biggest, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := restored(t, RestoreConfig{Folder: folder}); got != "" {
		t.Errorf("the mended backup has %q", got)
	}
}

func TestRestoreToAMomentBetweenTwoWrites(t *testing.T) {
	t.Parallel()
	dir, folder := clusterDir(t), filepath.Join(openTemp(t), "it's 100% of a\\folder")
	s := archiving(t, dir, folder)
	makeTable(t, s)
	before := write(t, s, "a")
	takeBackup(t, dir, folder, 0)
	write(t, s, "b")
	between := write(t, s, "c")
	write(t, s, "d")
	stop(t, s) // archives the last segment

	for name, tc := range map[string]struct {
		cfg  RestoreConfig
		want string
	}{
		"the backup":             {RestoreConfig{Folder: folder}, "a"},
		"between two writes":     {RestoreConfig{Folder: folder, To: between}, "a b c"},
		"all that there is":      {RestoreConfig{Folder: folder, Latest: true}, "a b c d"},
		"between two, once more": {RestoreConfig{Folder: folder, To: between}, "a b c"},
	} {
		if got := restored(t, tc.cfg); got != tc.want {
			t.Errorf("%s: %q is restored, want %q", name, got, tc.want)
		}
	}
	for want, to := range map[string]time.Time{
		"the oldest backup of":         before,
		"the archived log ends before": time.Now().Add(time.Hour),
	} {
		target := t.TempDir()
		_, err := Restore(t.Context(), RestoreConfig{Folder: folder, DataDir: target, To: to, Logger: slog.New(slog.DiscardHandler)})
		if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), want) {
			t.Errorf("restored to %v: %v, want that %s", to, err, want)
		}
		if left, _ := filepath.Glob(target + "/cluster*"); left != nil {
			t.Errorf("the refused restore left %v", left)
		}
	}
}

// A restored database goes on archiving in the same folder, and can be restored from there.
func TestARestoredDatabaseIsRestored(t *testing.T) {
	t.Parallel()
	dir, folder := clusterDir(t), openTemp(t)
	s := archiving(t, dir, folder)
	makeTable(t, s)
	takeBackup(t, dir, folder, 0)
	between := write(t, s, "kept")
	write(t, s, "lost")
	stop(t, s)
	second := t.TempDir()
	if _, err := Restore(t.Context(), RestoreConfig{Folder: folder, DataDir: second, To: between, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	s = archiving(t, second, folder)
	moment := write(t, s, "new")
	write(t, s, "newer")
	stop(t, s)
	rival := t.TempDir() // restored from the same backup, without knowing of the other one
	if err := os.Rename(filepath.Join(folder, archiveName), filepath.Join(folder, "hidden")); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), RestoreConfig{Folder: folder, DataDir: rival, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(folder, "hidden"), filepath.Join(folder, archiveName)); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{DataDir: rival, Archive: folder, Logger: slog.New(slog.DiscardHandler)})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "has the log of another restored database") {
		t.Errorf("two restored databases archive in one folder: %v", err)
	}
	for want, cfg := range map[string]RestoreConfig{
		"kept new":       {Folder: folder, To: moment},
		"kept new newer": {Folder: folder, Latest: true},
	} {
		if got := restored(t, cfg); got != want {
			t.Errorf("%q is restored, want %q", got, want)
		}
	}
}

func TestOldBackupsAndTheirLogAreRemoved(t *testing.T) {
	t.Parallel()
	dir, folder := clusterDir(t), openTemp(t)
	s := archiving(t, dir, folder)
	makeTable(t, s)
	var all []Backup
	var moment time.Time
	for i := range 3 {
		if i > 0 {
			next := all[i-1].Started.Truncate(time.Second).Add(time.Second) // their names are seconds
			wait.For(t, "the next second", func() bool { return !time.Now().Before(next) })
		}
		all = append(all, takeBackup(t, dir, folder, 2))
		moment = write(t, s, fmt.Sprint(i))
	}
	write(t, s, "later")
	kept, err := Backups(folder)
	if err != nil || len(kept) != 2 || kept[0].Path != all[1].Path || kept[1].Path != all[2].Path {
		t.Errorf("kept %v, %v; want the last two of %v", kept, err, all)
	}
	stop(t, s)
	segments, _, err := archived(filepath.Join(folder, archiveName), "")
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	for _, name := range segments {
		if name[:24] < all[1].FirstWAL {
			t.Errorf("the segment %s is left, which only the removed backup needs", name)
		}
	}
	if got := restored(t, RestoreConfig{Folder: kept[0].Path, To: moment}); got != "0 1 2" {
		t.Errorf("from the older one %q is restored", got)
	}
}

func TestBackupsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	dir, other, folder := clusterDir(t), t.TempDir(), t.TempDir()
	for want, cfg := range map[string]BackupConfig{
		"there is no database in": {DataDir: other, Folder: folder},
		"no server runs on":       {DataDir: dir, Folder: folder},
	} {
		if _, err := TakeBackup(t.Context(), cfg); fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want that %s", err, want)
		}
	}
	start(t, dir)
	start(t, other)
	takeBackup(t, dir, folder, 0)
	_, err := TakeBackup(t.Context(), BackupConfig{DataDir: other, Folder: folder})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "has the backups of another database") {
		t.Errorf("a backup of another database: %v", err)
	}
	lock, _, err := lockFile(filepath.Join(folder, "lock"))
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	_, err = TakeBackup(t.Context(), BackupConfig{DataDir: dir, Folder: folder})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), fmt.Sprintf("another ragd (process %d) is making a backup", os.Getpid())) {
		t.Errorf("a second backup at once: %v", err)
	}
	if err := unlockDir(lock); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := TakeBackup(ctx, BackupConfig{DataDir: dir, Folder: folder}); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted backup: %v", err)
	}
	if left, _ := filepath.Glob(folder + "/.part-*"); left != nil {
		t.Errorf("the interrupted backup left %v", left)
	}
	if err := needSpace(folder, 1<<60); fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "MiB free") {
		t.Errorf("a disk that is too small: %v", err)
	}
}

func TestAnArchiveThatTheServerCannotWriteIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the server has another user only if ragd runs as root")
	}
	dir, closed := clusterDir(t), t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{DataDir: dir, Archive: filepath.Join(closed, "backups"), Logger: slog.New(slog.DiscardHandler)})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "cannot write to") {
		t.Errorf("error %v, want that the server's user cannot write there", err)
	}
}
