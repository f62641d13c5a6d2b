package embedded

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// cluster is a PostgreSQL data directory with the binaries for it and the user as which
// they run.
type cluster struct {
	dir       string // absolute
	socketDir string
	install   Installation
	account   *account // nil for ragd's own user
}

// openCluster finds the binaries, the user and the socket folder for a data directory,
// which need not exist yet. It changes nothing in the directory.
func openCluster(dir string) (*cluster, error) {
	major, err := clusterMajor(dir)
	if err != nil {
		return nil, err
	}
	install, err := choose(Find(), major, dir)
	if err != nil {
		return nil, err
	}
	account, err := accountFor(dir)
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, install: install, account: account}
	c.socketDir, err = c.findSocketDir()
	return c, err
}

// clusterMajor returns the major version of PostgreSQL that created the cluster; 0 if
// there is no cluster yet.
func clusterMajor(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fault.New(fault.Precondition, "the data directory %s cannot be read (%v): run ragd as the user who made it, or use another --data-dir", dir, errors.Unwrap(err))
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fault.New(fault.Precondition, "%s/PG_VERSION is damaged: it says %q", dir, text)
	}
	return major, nil
}

// maxSocketPath is the longest path of a unix socket on macOS, in bytes. Linux allows
// four bytes more.
const maxSocketPath = 103

// socketName is the name of PostgreSQL's socket for its default port.
const socketName = ".s.PGSQL.5432"

// findSocketDir returns the cluster's directory if the path of a socket in it is short
// enough, else a folder in /tmp whose name is a hash of the cluster's path.
func (c *cluster) findSocketDir() (string, error) {
	if len(filepath.Join(c.dir, socketName)) <= maxSocketPath {
		return c.dir, nil
	}
	dir := fmt.Sprintf("/tmp/ragd-%x", sha256.Sum256([]byte(c.dir)))[:len("/tmp/ragd-")+16]
	if err := os.Mkdir(dir, 0o700); err == nil {
		return dir, c.account.own(dir)
	} else if !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make a folder for the socket: %w", err)
	}
	// Any user can create a folder in /tmp, so it must belong to the server's user and be
	// closed to others.
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("check the socket's folder: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || owner(info) != c.uid() {
		return "", fault.New(fault.Precondition,
			"%s belongs to another user or is open to others: remove it, or use a --data-dir with a shorter path (%s is too long for a socket)", dir, c.dir)
	}
	return dir, nil
}

// uid returns the id of the user that the server runs as.
func (c *cluster) uid() int {
	if c.account != nil {
		return int(c.account.uid)
	}
	return os.Geteuid()
}

// newSuffix follows the name of a cluster that is not complete yet.
const newSuffix = ".new-"

// init creates the cluster if there is none. It runs initdb in a directory of its own and
// then renames that, so that an interrupted initdb leaves nothing that looks like a cluster,
// and one that a killed ragd left behind, and that still runs, does no harm.
func (c *cluster) init(ctx context.Context, log *slog.Logger) error {
	interrupted, _ := filepath.Glob(escapePattern(c.dir) + newSuffix + "*") // the only error is a bad pattern
	for _, dir := range interrupted {
		_ = os.RemoveAll(dir) // fails while its initdb runs; the next start tries it again
	}
	if info, err := os.Stat(filepath.Join(c.dir, "PG_VERSION")); err == nil {
		if owner(info) != c.uid() {
			return c.account.own(c.dir) // for example restored from a backup by root
		}
		return nil
	}
	log.InfoContext(ctx, "creating a PostgreSQL cluster", "dir", c.dir, "version", c.install.Version)
	fresh := c.dir + newSuffix + rand.Text()[:8]
	if err := c.initIn(ctx, fresh); err != nil {
		_ = os.RemoveAll(fresh)
		return err
	}
	if err := appendInclude(fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, c.dir); err != nil {
		return fault.New(fault.Precondition, "%s exists and is not a data directory of PostgreSQL (%v): remove it, or use another --data-dir", c.dir, err)
	}
	return syncDir(filepath.Dir(c.dir))
}

// locales are the options of initdb that are tried in turn. All of these locales sort by
// code point, which no update of the system's libraries changes. The first two know upper
// and lower case of all letters, which text search needs; the last one exists on every
// system.
var locales = [][]string{
	{"--locale=C.UTF-8"},
	{"--locale=C", "--lc-ctype=en_US.UTF-8"},
	{"--locale=C"},
}

func (c *cluster) initIn(ctx context.Context, dir string) error {
	var failure string
	for _, locale := range locales {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("clear %s: %w", dir, err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return notWritable(filepath.Dir(dir), err)
		}
		if err := c.account.own(dir); err != nil {
			return fmt.Errorf("give %s to %s: %w", dir, c.account.name, err)
		}
		cmd, release, err := c.command(ctx, dir, "initdb", append(locale,
			"--encoding=UTF8", "--username="+superuser, "--auth-local=trust", "--auth-host=reject",
			"--data-checksums", "--no-instructions")...)
		if err != nil {
			return err
		}
		out, err := cmd.CombinedOutput()
		release()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failure = errorLines(string(out))
		if !strings.Contains(failure, "locale") {
			break
		}
	}
	return fmt.Errorf("initdb: %s", failure)
}

// errorLines returns the output of a program from its first error on, or all of it if it
// has none.
func errorLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i, line := range lines {
		if strings.Contains(line, "error:") || strings.Contains(line, "FATAL:") {
			lines = lines[i:]
			break
		}
	}
	return strings.Join(lines, "; ")
}

// server prepares the command that runs the server, which listens on the unix socket
// only. Settings that an operator must not change are on the command line.
func (c *cluster) server() (cmd *exec.Cmd, release func(), err error) {
	socketDir := c.socketDir
	if socketDir == c.dir {
		socketDir = "." // relative to the data directory, so that the path is short
	}
	// context.Background: the end of a context would kill the server instead of shutting
	// it down.
	return c.command(context.Background(), c.dir, "postgres",
		"-c", "listen_addresses=", "-c", "port=5432", "-c", "unix_socket_directories="+socketDir, "-c", mark(c.dir))
}

// command prepares a program of the installation for a data directory, with the server's
// user and a clean environment. The caller must call release after the program has ended,
// or if it is not started.
func (c *cluster) command(ctx context.Context, dir, program string, args ...string) (cmd *exec.Cmd, release func(), err error) {
	pgdata, extra, err := reachable(dir, c.account)
	if err != nil {
		return nil, nil, fmt.Errorf("open the data directory: %w", err)
	}
	cmd = exec.CommandContext(ctx, filepath.Join(c.install.BinDir, program), append([]string{"-D", pgdata}, args...)...)
	// The server's user may have no access to ragd's working directory.
	cmd.Dir = "/"
	// No PG* variables, and English messages, which errorLines and lingering search.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.ExtraFiles = extra
	cmd.SysProcAttr = c.account.attributes()
	return cmd, func() {
		for _, f := range extra {
			_ = f.Close()
		}
	}, nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
