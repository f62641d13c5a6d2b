package embedded

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// A Backup is a copy of a cluster, in a folder of its own among those of a folder of backups:
//
//	<Folder>/system-identifier     the database that the folder belongs to
//	<Folder>/lock                  locked by the one process that writes here
//	<Folder>/20261123T182500Z/     a backup
//	    backup.json                what it is; written last
//	    cluster/                   PostgreSQL's data directory, with backup_manifest
//	<Folder>/wal/                  the archived write-ahead log, if Config.Archive is set
type Backup struct {
	Path     string    `json:"-"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"` // it can be restored to this time and later ones
	Bytes    int64     `json:"bytes"`
	Server   string    `json:"server"`   // version of PostgreSQL
	FirstWAL string    `json:"firstWal"` // the first segment of the log that it needs
}

// BackupConfig says what to back up, and where to.
type BackupConfig struct {
	// DataDir is the folder of a server that runs (see Config.DataDir).
	DataDir string
	// Folder receives the backup, as a new folder in it. It is made if it is missing, and
	// holds the backups of one database alone.
	Folder string
	// Keep is how many backups are kept: older ones are removed, and the archived log
	// that only they need. Default: all.
	Keep   int
	Logger *slog.Logger // default slog.Default()
}

const (
	backupTime   = "20060102T150405Z"
	backupFile   = "backup.json"
	partPrefix   = ".part-"
	clusterName  = "cluster"
	backupMargin = 64 * mib // of the disk that a backup leaves free
)

// TakeBackup copies the cluster of a running server, with the log that the copy needs, and
// verifies the checksum of each file of the copy. The server goes on serving. If it fails,
// nothing is left in the folder, and no older backup is removed.
//
// Errors: Precondition if no server runs, if programs of PostgreSQL are missing, if the
// folder belongs to another database or is in use by another backup, or if its disk is too
// small.
func TakeBackup(ctx context.Context, cfg BackupConfig) (b Backup, err error) {
	if err := supported(); err != nil {
		return b, err
	}
	log := cmp.Or(cfg.Logger, slog.Default())
	folder, err := filepath.Abs(cfg.Folder)
	if cfg.Folder == "" || err != nil {
		return b, fault.New(fault.Invalid, "the folder of backups %q is not a valid path", cfg.Folder)
	}
	c, err := runningCluster(cfg.DataDir)
	if err != nil {
		return b, err
	}
	if err := c.claim(ctx, folder); err != nil {
		return b, err
	}
	lock, holder, err := lockFile(filepath.Join(folder, "lock"))
	if err != nil {
		return b, folderFault(folder, err)
	}
	if lock == nil {
		return b, fault.New(fault.Precondition, "another ragd (process %s) is making a backup in %s: wait for its end", holder, folder)
	}
	defer func() { _ = unlockDir(lock) }()
	if err := removeParts(folder); err != nil {
		return b, folderFault(folder, err)
	}
	if err := c.checkSpace(folder); err != nil {
		return b, err
	}
	b.Started = time.Now().UTC()
	b.Path = filepath.Join(folder, b.Started.Format(backupTime))
	part := filepath.Join(folder, partPrefix+filepath.Base(b.Path))
	if err := c.copyInto(ctx, part, &b); err != nil {
		return b, errors.Join(err, os.RemoveAll(part))
	}
	if err := os.Rename(part, b.Path); err != nil {
		return b, errors.Join(folderFault(folder, err), os.RemoveAll(part))
	}
	if err := syncDir(folder); err != nil {
		return b, folderFault(folder, err)
	}
	if err := prune(folder, cfg.Keep); err != nil {
		log.WarnContext(ctx, "old backups could not be removed", "folder", folder, "err", err)
	}
	return b, nil
}

// runningCluster returns the cluster of a data directory on which a server runs.
func runningCluster(dataDir string) (*cluster, error) {
	dir, err := filepath.Abs(filepath.Join(dataDir, clusterName))
	if err != nil {
		return nil, fault.New(fault.Invalid, "the data directory %q is not a valid path", dataDir)
	}
	major, err := clusterMajor(dir)
	if err != nil {
		return nil, err
	}
	if major == 0 {
		return nil, fault.New(fault.Precondition, "there is no database in %s", dataDir)
	}
	c, err := openCluster(dir)
	if err != nil {
		return nil, err
	}
	if pid, _ := readPidFile(dir); pid == 0 || !isOurs(pid, dir) {
		return nil, fault.New(fault.Precondition, "no server runs on %s", dataDir)
	}
	return c, nil
}

// copyInto makes the backup in the folder part, verifies it and completes b.
func (c *cluster) copyInto(ctx context.Context, part string, b *Backup) error {
	if err := os.Mkdir(part, 0o700); err != nil {
		return folderFault(filepath.Dir(part), err)
	}
	target := filepath.Join(part, clusterName)
	out, err := c.run(ctx, nil, c.program("pg_basebackup"), "--pgdata="+target, "--host="+c.socketDir, "--username="+superuser,
		"--no-password", "--checkpoint=fast", "--wal-method=stream", "--label="+filepath.Base(b.Path))
	if err != nil {
		return programFault(ctx, "the backup failed", out, err)
	}
	b.Ended = time.Now().UTC()
	if err := c.verify(ctx, target); err != nil {
		return err
	}
	b.Server = c.install.Version
	if b.FirstWAL, err = firstWAL(target); err != nil {
		return err
	}
	if b.Bytes, err = folderBytes(part); err != nil {
		return err
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(part, backupFile), append(text, '\n'))
}

// verify compares all files of a copied cluster with the checksums of its manifest. Errors:
// Precondition with what differs.
func (c *cluster) verify(ctx context.Context, dir string) error {
	out, err := c.run(ctx, nil, c.program("pg_verifybackup"), "--quiet", "--exit-on-error", dir)
	if err != nil {
		return programFault(ctx, "the backup is damaged", out, err)
	}
	return nil
}

// programFault returns the error for a program that failed: what it printed, or why it did
// not start.
func programFault(ctx context.Context, what, output string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(fault.Precondition, err, "%s: a program of PostgreSQL is missing (%v): install the client programs of its version", what, err)
	case output == "":
		output = err.Error()
	}
	return fault.Wrap(fault.Precondition, err, "%s: %s", what, errorLines(output))
}

// program returns the path of a program of the installation.
func (c *cluster) program(name string) string { return filepath.Join(c.install.BinDir, name) }

// run runs a program as the account, nil for ragd's own user, and returns its output.
func (c *cluster) run(ctx context.Context, as *account, program string, args ...string) (output string, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = as.attributes()
	// An interrupt lets pg_basebackup end its receiver of the log, and its server process.
	cmd.Cancel = func() error { return kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = quitWait
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// checkSpace returns an error unless the folder's disk has space for a copy of the cluster: a full
// disk stops the database too, if it is the same one.
func (c *cluster) checkSpace(folder string) error {
	need, err := folderBytes(c.dir)
	if err != nil {
		return fmt.Errorf("measure %s: %w", c.dir, err)
	}
	return needSpace(folder, need)
}

// needSpace returns an error unless the disk of a folder has space for need bytes.
func needSpace(folder string, need int64) error {
	free, err := freeBytes(folder)
	if err != nil {
		return folderFault(folder, err)
	}
	if free < need+backupMargin {
		return fault.New(fault.Precondition, "a copy takes %d MiB, but the disk of %s has only %d MiB free: make space, or keep fewer backups", need/mib, folder, free/mib)
	}
	return nil
}

// folderBytes returns the size of all files of a folder. Files that vanish meanwhile, as
// those of a running server do, do not count.
func folderBytes(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				total += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return total, err
}

var startLine = regexp.MustCompile(`START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)`)

// firstWAL returns the first segment of the log that a copied cluster needs.
func firstWAL(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "backup_label"))
	if err != nil {
		return "", fmt.Errorf("read the label of the backup: %w", err)
	}
	m := startLine.FindSubmatch(text)
	if m == nil {
		return "", errors.New("the label of the backup does not say where the log starts")
	}
	return string(m[1]), nil
}

// Backups returns the backups of a folder, oldest first. Those that were interrupted are not
// among them. A folder that does not exist has none.
func Backups(folder string) ([]Backup, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, folderFault(folder, err)
	}
	var all []Backup
	for _, e := range entries {
		if _, err := time.Parse(backupTime, e.Name()); err != nil || !e.IsDir() {
			continue
		}
		b, err := readBackup(filepath.Join(folder, e.Name()))
		if err != nil {
			continue // not complete: backup.json is written last
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Backup) int { return a.Started.Compare(b.Started) })
	return all, nil
}

func readBackup(dir string) (b Backup, err error) {
	text, err := os.ReadFile(filepath.Join(dir, backupFile))
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	b.Path = dir
	return b, err
}

// prune removes all but the newest backups, and the archived log that they do not need.
func prune(folder string, keep int) error {
	all, err := Backups(folder)
	if err != nil || keep < 1 || len(all) == 0 {
		return err
	}
	old := all[:max(0, len(all)-keep)]
	for _, b := range old {
		// Renamed first, so that an interrupted removal leaves nothing that looks like a backup.
		part := filepath.Join(folder, partPrefix+filepath.Base(b.Path))
		err = errors.Join(err, os.Rename(b.Path, part), os.RemoveAll(part))
	}
	return errors.Join(err, pruneArchive(filepath.Join(folder, archiveName), all[len(old)].FirstWAL))
}

// removeParts removes what interrupted backups left.
func removeParts(folder string) error {
	parts, _ := filepath.Glob(filepath.Join(escapePattern(folder), partPrefix+"*")) // the only error is a bad pattern
	var err error
	for _, part := range parts {
		err = errors.Join(err, os.RemoveAll(part))
	}
	return err
}

// escapePattern returns a pattern of filepath.Glob that matches a path alone.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// writeSynced writes a file and syncs it and its folder to disk.
func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close(), syncDir(filepath.Dir(path)))
}
