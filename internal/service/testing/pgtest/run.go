package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
)

// The test processes with one parent, which are those of one `go test`, share a server of the
// installed binaries. Each of its users has a file in the folder users, with the name of its process
// id. The last one to leave removes that folder, which fails while it has files: then nobody can
// enter any more, and the server stops.
//
//	<temporary folder>/ragd-pgtest-<user>-<parent>-<random>/
//		users/<process id>
//		cluster/                the data directory
//		log                     what the server prints
//		.s.PGSQL.5432           its socket

// leaveScript removes the user $2 of the server of the folder $1, and users that were killed together
// with what cleans up after them. If none is left the server stops.
const leaveScript = `
	rm -f "$1/users/$2"
	for user in "$1"/users/*; do
		[ ! -e "$user" ] || kill -0 "${user##*/}" 2>/dev/null || rm -f "$user"
	done
	rmdir "$1/users" 2>/dev/null || exit 0` + stopScript

// holdScript keeps the process $2 a user of the server of the folder $1 until it ends.
const holdScript = `
	while kill -0 "$2" 2>/dev/null; do sleep 1; done` + leaveScript

// startInstalled enters the server of the processes with this one's parent, or starts it, and returns
// its URL.
func startInstalled(ctx context.Context) (string, error) {
	install, err := embedded.Default()
	if err != nil {
		return "", &missingError{reasons: []string{err.Error()}}
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	unlock, err := lockFile(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	cached, err := cachedCluster(ctx, cache, install)
	if err != nil {
		return "", err
	}
	if dir := enterRunning(ctx, cached); dir != "" {
		return socketURL(dir), whenProcessEnds(leaveScript, dir, strconv.Itoa(os.Getpid()))
	}
	dir, err := startShared(ctx, install, cached)
	if err != nil {
		return "", fmt.Errorf("start a copy of %s (if that is damaged, remove it): %w", cached, err)
	}
	return socketURL(dir), nil
}

// lockFile waits until no other process has locked a file.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// Closing it alone would leave it locked while a process that is being started has a copy.
	return func() { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN); _ = f.Close() }, nil
}

// enterRunning makes this process a user of the server of its parent's processes and returns the
// server's folder; empty if none answers. Servers that have no users any more are stopped, all of them.
func enterRunning(ctx context.Context, cached string) (entered string) {
	mine := serverPrefix() + strconv.Itoa(os.Getppid()) + "-"
	all, _ := filepath.Glob(filepath.Join(tempDir(), serverPrefix()+"*")) // the only error is a bad pattern
	for _, dir := range all {
		if !sameUser(dir, cached) {
			continue
		}
		user := "none"
		if entered == "" && strings.HasPrefix(filepath.Base(dir), mine) {
			if enter(dir, os.Getpid()) == nil && answers(ctx, dir) {
				entered = dir
				continue
			}
			user = strconv.Itoa(os.Getpid())
		}
		_ = exec.CommandContext(ctx, "/bin/sh", "-c", leaveScript, "sh", dir, user).Run()
	}
	return entered
}

// serverPrefix begins the names of the folders of this user's servers.
func serverPrefix() string { return fmt.Sprintf("ragd-pgtest-%d-", os.Geteuid()) }

// sameUser reports whether two folders belong to one user: any user can create folders in a
// temporary one.
func sameUser(a, b string) bool {
	first, err := os.Lstat(a)
	second, berr := os.Lstat(b)
	if err != nil || berr != nil || !first.IsDir() {
		return false
	}
	of, ok := first.Sys().(*syscall.Stat_t)
	with, bok := second.Sys().(*syscall.Stat_t)
	return ok && bok && of.Uid == with.Uid
}

// enter makes a process a user of the server of a folder. It fails if the server stops.
func enter(dir string, pid int) error {
	return os.WriteFile(filepath.Join(dir, "users", strconv.Itoa(pid)), nil, 0o600)
}

// answerTimeout is how long a server that runs may take to accept a connection.
const answerTimeout = time.Minute

func answers(ctx context.Context, dir string) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, socketURL(dir))
	if err != nil {
		return false
	}
	_ = conn.Close(ctx)
	return true
}

// socketURL returns the address of the server of a folder.
func socketURL(dir string) string {
	query := url.Values{"host": {dir}, "user": {"ragd"}}
	return (&url.URL{Scheme: "postgres", Path: "/ragd", RawQuery: query.Encode()}).String()
}

// startShared starts the server of the processes with this one's parent, which outlives this process,
// and returns its folder.
func startShared(ctx context.Context, install embedded.Installation, cached string) (dir string, err error) {
	parent, pid := os.Getppid(), os.Getpid()
	if dir, err = os.MkdirTemp(tempDir(), serverPrefix()+strconv.Itoa(parent)+"-"); err != nil {
		return "", err
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "users"), 0o700), enter(dir, pid)); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	if err := whenProcessEnds(leaveScript, dir, strconv.Itoa(pid)); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	cluster := filepath.Join(dir, "cluster")
	if err := errors.Join(os.CopyFS(cluster, os.DirFS(cached)), os.Chmod(cluster, 0o700), sameOwner(cached, dir)); err != nil {
		return "", fmt.Errorf("copy the cached cluster: %w", err)
	}
	if err := launch(ctx, install, dir); err != nil {
		return "", err
	}
	if !isGo(parent) {
		return dir, nil // a shell, say, which would keep the server for hours
	}
	// While it compiles, the go command may have no test processes for a while.
	return dir, errors.Join(enter(dir, parent), detached(holdScript, dir, strconv.Itoa(parent)).Start())
}

// launch starts the server of a folder and waits until it accepts connections.
func launch(ctx context.Context, install embedded.Installation, dir string) error {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cluster := filepath.Join(dir, "cluster")
	args := []string{"-D", cluster, "-c", "listen_addresses=", "-c", "port=5432", "-c", "unix_socket_directories=" + dir}
	for name, value := range settings {
		args = append(args, "-c", name+"="+value)
	}
	cmd := exec.Command(filepath.Join(install.BinDir, "postgres"), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	info, err := os.Stat(cluster)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	for !ready(cluster) {
		select {
		case err := <-exited:
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("PostgreSQL did not start: %w: %s", err, said)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(readyPoll):
		}
	}
	return nil
}

// readyPoll is how often a server that starts is asked whether it is ready.
const readyPoll = 10 * time.Millisecond

// ready reports whether the server of a data directory accepts connections: the last line of its pid
// file says so.
func ready(cluster string) bool {
	text, err := os.ReadFile(filepath.Join(cluster, "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	return err == nil && len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready"
}

// isGo reports whether a process is the go command.
func isGo(pid int) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil { // not on Linux
		name, _ = exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	}
	return filepath.Base(strings.TrimSpace(string(name))) == "go"
}
