package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
)

const (
	orphanFast = 60 * time.Second // for the shutdown that writes everything out
	orphanQuit = 10 * time.Second // for the one that does not
)

// markSetting is how a server of ours is known by its command line: a setting
// without effect that holds the data directory. (Its working directory would say
// the same, but root in a container may not look at another user's.)
const markSetting = "ragd.data_dir="

func mark(dir string) string { return markSetting + dir }

// isOurs tells whether the process is a server that a ragd started on dir.
func isOurs(pid int, dir string) bool { return strings.Contains(commandLine(pid), mark(dir)) }

// isPostgres tells whether the process is any PostgreSQL server.
func isPostgres(pid int) bool {
	program, _, _ := strings.Cut(commandLine(pid), "\x00")
	program, _, _ = strings.Cut(program, " ")
	return strings.TrimSuffix(filepath.Base(program), ":") == "postgres"
}

// stopOrphan clears the way that a dead ragd left blocked. A server of ours that
// still runs on the directory is stopped: it may have other settings, and it is
// not ours to watch. A pid file without a server is removed, because PostgreSQL
// trusts the pid in it although, in a container above all, the number may have
// gone to another program meanwhile. A server that somebody else started is left
// to PostgreSQL, which refuses to start a second one. The caller holds the
// directory's lock.
func stopOrphan(ctx context.Context, dir string, log *slog.Logger) error {
	pid, _ := readPidFile(dir)
	switch {
	case pid == 0:
		return nil
	case isOurs(pid, dir):
		return stopServer(ctx, pid, dir, log)
	case isPostgres(pid):
		return nil
	}
	if err := os.Remove(filepath.Join(dir, "postmaster.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a stale pid file: %w", err)
	}
	return nil
}

func stopServer(ctx context.Context, pid int, dir string, log *slog.Logger) error {
	log.WarnContext(ctx, "stopping the PostgreSQL that an earlier ragd left behind", "pid", pid)
	for _, try := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, orphanFast}, {syscall.SIGQUIT, orphanQuit}} {
		if err := syscall.Kill(pid, try.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the PostgreSQL that an earlier ragd left behind (process %d): %w", pid, err)
		}
		if gone, err := awaitGone(ctx, pid, dir, try.wait); gone || err != nil {
			return err
		}
	}
	return fault.New(fault.Precondition,
		"a PostgreSQL that an earlier ragd left behind (process %d) still runs on %s and does not stop: end it by hand", pid, dir)
}

func awaitGone(ctx context.Context, pid int, dir string, wait time.Duration) (bool, error) {
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); {
		if !isOurs(pid, dir) {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(readyPoll):
		}
	}
	return false, nil
}
