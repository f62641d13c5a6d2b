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

	"github.com/ragdhq/ragd/internal/operate/fault"
)

const (
	orphanFast = 60 * time.Second // for a fast shutdown, which writes everything to disk
	orphanQuit = 10 * time.Second // for an immediate shutdown
)

// markSetting identifies a server that ragd started, on its command line: a setting
// without effect whose value is the data directory. (The process's working directory
// would tell the same, but root in a container may not read that of another user's
// process.)
const markSetting = "ragd.data_dir="

func mark(dir string) string { return markSetting + dir }

// isOurs reports whether the process is a server that a ragd started on dir.
func isOurs(pid int, dir string) bool { return strings.Contains(commandLine(pid), mark(dir)) }

// isPostgres reports whether the process is any PostgreSQL server.
func isPostgres(pid int) bool {
	program, _, _ := strings.Cut(commandLine(pid), "\x00")
	program, _, _ = strings.Cut(program, " ")
	return strings.TrimSuffix(filepath.Base(program), ":") == "postgres"
}

// stopOrphan makes the directory usable after a ragd died. The caller has locked it.
//
// A server that a ragd started there is stopped: it may have other settings, and only a
// parent process can wait for it. A pid file without a server is removed: its pid may
// belong to another program now, above all in a container, and PostgreSQL would refuse to
// start. A server that an operator started keeps running, and PostgreSQL then refuses to
// start a second one.
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
	for _, attempt := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, orphanFast}, {syscall.SIGQUIT, orphanQuit}} {
		if err := kill(pid, attempt.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the PostgreSQL that an earlier ragd left behind (process %d): %w", pid, err)
		}
		if gone, err := awaitGone(ctx, pid, dir, attempt.wait); gone || err != nil {
			return err
		}
	}
	return fault.New(fault.Precondition,
		"a PostgreSQL that an earlier ragd left behind (process %d) still runs on %s and does not stop: end it by hand", pid, dir)
}

// awaitGone waits for the end of the server. It returns false if it still runs after wait.
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
