package embedded

import (
	"context"
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
	"syscall"

	"github.com/ragdhq/ragd/internal/fault"
)

// cluster is a PostgreSQL data directory, the binaries for it and the user that
// they run as.
type cluster struct {
	dir       string // absolute
	socketDir string
	install   Installation
	account   *account // nil: ourselves
}

// openCluster finds what the directory needs. It changes nothing: the directory
// need not exist yet.
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

// clusterMajor returns the major version that made the cluster, 0 if there is
// none yet.
func clusterMajor(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fault.Wrap(fault.Precondition, err, "the data directory %s is not readable: %v", dir, err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fault.New(fault.Precondition, "%s/PG_VERSION is damaged: it says %q", dir, text)
	}
	return major, nil
}

// maxSocketPath is what fits into a socket's address, on macOS; Linux has four
// bytes more.
const maxSocketPath = 103

// socketName is the file that PostgreSQL makes for its default port.
const socketName = ".s.PGSQL.5432"

// findSocketDir returns the cluster's own directory where a socket in it can be
// named, and else a folder in /tmp whose name follows from the directory's.
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
	// Anybody can make a folder in /tmp: only our own, closed to others, will do.
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("look at the socket's folder: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || owner(info) != c.uid() {
		return "", fault.New(fault.Precondition,
			"%s was made by somebody else: remove it, or use a --data-dir with a shorter path (%s is too long to hold a socket)", dir, c.dir)
	}
	return dir, nil
}

// uid is the user that the server runs as.
func (c *cluster) uid() int {
	if c.account != nil {
		return int(c.account.uid)
	}
	return os.Geteuid()
}

// init makes the cluster if there is none: beside its place, so that an
// interrupted initdb leaves nothing that looks like a cluster.
func (c *cluster) init(ctx context.Context, log *slog.Logger) error {
	if info, err := os.Stat(filepath.Join(c.dir, "PG_VERSION")); err == nil {
		if owner(info) != c.uid() {
			return c.account.own(c.dir) // root has copied it here
		}
		return nil
	}
	log.InfoContext(ctx, "making a PostgreSQL cluster", "dir", c.dir, "version", c.install.Version)
	fresh := c.dir + ".new"
	if err := c.initIn(ctx, fresh); err != nil {
		return err
	}
	if err := appendInclude(fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, c.dir); err != nil {
		return fault.Wrap(fault.Precondition, err, "%s is not a PostgreSQL cluster and is in the way of one: %v", c.dir, err)
	}
	return syncDir(filepath.Dir(c.dir))
}

// locales are tried in turn. All sort by code point, which never changes with
// the system's libraries; the first two know upper and lower case of all
// letters, which text search needs, and the last one is everywhere.
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
			return fmt.Errorf("make the cluster's folder: %w", err)
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
		failure = complaint(string(out))
		if !strings.Contains(failure, "locale") {
			break
		}
	}
	return fmt.Errorf("initdb: %s", failure)
}

// complaint returns what went wrong, from a program's output that starts with
// what went well.
func complaint(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i, line := range lines {
		if strings.Contains(line, "error:") || strings.Contains(line, "FATAL:") {
			lines = lines[i:]
			break
		}
	}
	return strings.Join(lines, "; ")
}

// server prepares the server itself, on the socket alone. Settings that are not
// an operator's to change are on its command line.
func (c *cluster) server() (cmd *exec.Cmd, release func(), err error) {
	socketDir := c.socketDir
	if socketDir == c.dir {
		socketDir = "." // its working directory: short, and it need not know more
	}
	// No context: one that ends would kill the server where it should shut down.
	return c.command(context.Background(), c.dir, "postgres",
		"-c", "listen_addresses=", "-c", "port=5432", "-c", "unix_socket_directories="+socketDir, "-c", mark(c.dir))
}

// command prepares one of the server's programs on a data directory, as the
// server's user and with an environment that does not reach into it. The caller
// calls release when the program has started and ended, or when it never will.
func (c *cluster) command(ctx context.Context, dir, program string, args ...string) (cmd *exec.Cmd, release func(), err error) {
	pgdata, extra, err := reachable(dir, c.account)
	if err != nil {
		return nil, nil, fmt.Errorf("open the data directory: %w", err)
	}
	cmd = exec.CommandContext(ctx, filepath.Join(c.install.BinDir, program), append([]string{"-D", pgdata}, args...)...)
	// Not ours, which the server's user may be unable to enter.
	cmd.Dir = "/"
	// No PG* variables, and messages in the language that we read.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.ExtraFiles = extra
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.account.credential(), Setpgid: true}
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
