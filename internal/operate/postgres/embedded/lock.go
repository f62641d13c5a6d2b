package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// lockDir locks the data directory for this process until the returned file is closed or
// the process ends.
func lockDir(dir string) (*os.File, error) {
	f, holder, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, notWritable(dir, err)
	}
	if f == nil {
		return nil, fault.New(fault.Precondition,
			"the data directory %s is in use by another ragd (process %s): stop that one, or use another --data-dir", dir, holder)
	}
	return f, nil
}

// lockFile locks a file for this process until the returned file is closed or the process
// ends. The file contains the pid, for the error that another process gets: f is nil if the
// process holder has locked it.
func lockFile(path string) (f *os.File, holder string, err error) {
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, "", err
	}
	err = tryLock(f)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		pid, _ := io.ReadAll(io.LimitReader(f, 20)) // optional: it only makes the error more helpful
		_ = f.Close()
		return nil, strings.TrimSpace(string(pid)), nil
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	if err != nil {
		_ = f.Close()
		return nil, "", fmt.Errorf("lock %s: %w", path, err)
	}
	return f, "", nil
}

// unlockDir unlocks the data directory. Closing the file alone would leave it locked for as long as
// a process that is just being started has a copy of the file.
func unlockDir(lock *os.File) error {
	if conn, err := lock.SyscallConn(); err == nil {
		_ = conn.Control(unlock) // closing it unlocks it too
	}
	return lock.Close()
}
