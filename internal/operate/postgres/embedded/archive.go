package embedded

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// archiveTimeout is the longest time, in seconds, after which a write is in the archive.
const archiveTimeout = 60

// archiveName is the folder of the write-ahead log in a folder of backups.
const archiveName = "wal"

// archiveSettings returns the settings with which the server copies its write-ahead log to
// the archive of a folder of backups, which it prepares for the server's user. Errors:
// Precondition if that user cannot write there, or if the folder is of another database.
func (c *cluster) archiveSettings(ctx context.Context, folder string) (map[string]string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the folder of backups %q is not a valid path", folder)
	}
	if err := c.claim(ctx, folder); err != nil {
		return nil, err
	}
	dir := filepath.Join(folder, archiveName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, folderFault(folder, err)
	}
	if err := c.archiveHistories(dir); err != nil {
		return nil, err
	}
	if c.account != nil {
		// The server's user must be able to pass through. The backups in it are closed.
		if err := errors.Join(os.Chmod(folder, 0o711), c.account.own(dir)); err != nil { //nolint:gosec // see above
			return nil, folderFault(folder, err)
		}
	}
	if out, err := c.run(ctx, c.account, "/bin/sh", "-c", `test -w "$0"`, dir); err != nil {
		user := "its user"
		if c.account != nil {
			user = "the user " + c.account.name
		}
		return nil, fault.New(fault.Precondition,
			"PostgreSQL runs as %s, who cannot write to %s %s: choose a folder of backups below folders that this user may enter", user, dir, out)
	}
	return map[string]string{
		"archive_mode":    "on",
		"archive_timeout": fmt.Sprint(archiveTimeout),
		"archive_command": archiveCommand(dir),
	}, nil
}

// archiveCommand returns the command with which PostgreSQL copies a segment of its log, %p,
// to the file %f of the archive. Never does it replace a file: the server may offer one twice,
// with the same content, and another database has other content.
func archiveCommand(dir string) string {
	quoted := "'" + strings.ReplaceAll(strings.ReplaceAll(dir, "'", `'\''`), "%", "%%") + "'"
	return `set -e; f=` + quoted + `/%f.gz; ` +
		`if [ -e "$f" ]; then gzip -dc "$f" | cmp -s - "%p"; ` +
		`else gzip -c "%p" > "$f.part"; sync "$f.part"; mv "$f.part" "$f"; fi`
}

// systemFile contains the identifier of the database to which a folder of backups belongs.
const systemFile = "system-identifier"

// claim makes the folder one of backups of this database. Errors: Precondition if it has
// those of another one, whose files would have the same names.
func (c *cluster) claim(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return folderFault(folder, err)
	}
	system, err := c.systemIdentifier(ctx)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, systemFile)
	owner, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.WriteFile(path, []byte(system+"\n"), 0o600); err == nil {
			return nil
		}
	}
	if err != nil {
		return folderFault(folder, err)
	}
	if strings.TrimSpace(string(owner)) != system {
		return fault.New(fault.Precondition, "%s has the backups of another database: choose another folder for those of %s", folder, filepath.Dir(c.dir))
	}
	return nil
}

var systemLine = regexp.MustCompile(`Database system identifier: +(\d+)`)

// systemIdentifier returns the number that initdb gave the cluster.
func (c *cluster) systemIdentifier(ctx context.Context) (string, error) {
	cmd, release, err := c.command(ctx, c.dir, "pg_controldata")
	if err != nil {
		return "", err
	}
	defer release()
	out, err := cmd.CombinedOutput()
	m := systemLine.FindSubmatch(out)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil || m == nil {
		return "", fmt.Errorf("read the identifier of %s: %s", c.dir, errorLines(string(out)))
	}
	return string(m[1]), nil
}

// folderFault returns the error for a folder of backups that cannot be used.
func folderFault(folder string, err error) error {
	reason := err
	if inner := errors.Unwrap(err); inner != nil {
		reason = inner
	}
	return fault.Wrap(fault.Precondition, err, "the folder of backups %s cannot be used (%v)", folder, reason)
}

// archiveHistories copies the histories of the cluster's timelines to the archive: the server
// does so only for a timeline that begins while it archives, not for that of a restore.
// Errors: Precondition if the archive has another timeline of that number.
func (c *cluster) archiveHistories(archive string) error {
	paths, _ := filepath.Glob(filepath.Join(escapePattern(c.dir), "pg_wal", "*.history")) // the only error is a bad pattern
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read the history of a timeline: %w", err)
		}
		name := filepath.Join(archive, filepath.Base(path)+".gz")
		known, err := readPacked(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			_, err = w.Write(text)
			if err = errors.Join(err, w.Close()); err == nil {
				err = writeSynced(name, packed.Bytes())
			}
			if err != nil {
				return folderFault(archive, err)
			}
		case err != nil:
			return folderFault(archive, err)
		case !bytes.Equal(known, text):
			return fault.New(fault.Precondition,
				"%s has the log of another restored database: choose another folder of backups", archive)
		}
	}
	return nil
}

// readPacked returns the text of a compressed file.
func readPacked(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(text)
}

var (
	segmentPattern = regexp.MustCompile(`^[0-9A-F]{24}\.gz$`)
	historyPattern = regexp.MustCompile(`^[0-9A-F]{8}\.history\.gz$`)
)

// archived returns the names of the segments in the archive that are not older than first, and of
// all histories of timelines. The first eight digits of a segment are its timeline, which
// does not matter for its age.
func archived(archive, first string) (segments, histories []string, err error) {
	entries, err := os.ReadDir(archive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case historyPattern.MatchString(name):
			histories = append(histories, name)
		case segmentPattern.MatchString(name) && (len(first) < 24 || name[8:24] >= first[8:24]):
			segments = append(segments, name)
		}
	}
	return segments, histories, err
}

// pruneArchive removes the segments that are older than the first one that the oldest
// backup needs.
func pruneArchive(archive, first string) error {
	all, _, err := archived(archive, "")
	if err != nil || len(first) < 24 {
		return err
	}
	for _, name := range all {
		if name[8:24] < first[8:24] {
			err = errors.Join(err, os.Remove(filepath.Join(archive, name)))
		}
	}
	return err
}

// unpack writes files of the archive to a folder, without their suffix.
func unpack(ctx context.Context, archive string, names []string, dir string) error {
	for _, name := range names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := unpackFile(filepath.Join(archive, name), filepath.Join(dir, strings.TrimSuffix(name, ".gz"))); err != nil {
			return fault.Wrap(fault.Precondition, err, "the archived log %s is damaged (%v): restore to an earlier time", name, err)
		}
	}
	return nil
}

// maxSegment is the size of the largest segment that PostgreSQL can be configured to write.
const maxSegment = gib

func unpackFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	text, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(text, maxSegment))
	return errors.Join(err, out.Sync(), out.Close())
}
