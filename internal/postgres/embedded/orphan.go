package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
)

const (
	orphanFast = 60 * time.Second // for the shutdown that writes everything out
	orphanQuit = 10 * time.Second // for the one that does not
)

// stopOrphan clears the way that a dead ragd left blocked. A server still
// running on the directory is stopped: it may have other settings, and it is not
// ours to watch. A pid file without its server is removed, because PostgreSQL
// trusts the pid in it although, in a container above all, the number may have
// gone to another process meanwhile. The caller holds the directory's lock.
func stopOrphan(ctx context.Context, dir string, log *slog.Logger) error {
	pid, _ := readPidFile(dir)
	if pid <= 1 {
		return nil
	}
	if !isPostmaster(pid, dir) {
		err := os.Remove(filepath.Join(dir, "postmaster.pid"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a stale pid file: %w", err)
		}
		return nil
	}
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
		if !isPostmaster(pid, dir) {
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
