package config

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock waits for the lock of a file, which closing it releases.
func lock(file *os.File) error {
	return windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &windows.Overlapped{})
}
