//go:build unix

package config

import (
	"os"
	"syscall"
)

// lock waits for the lock of a file, which closing it releases.
func lock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX) }
