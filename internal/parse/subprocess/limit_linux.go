package subprocess

import (
	"fmt"
	"os"
	"syscall"
)

// limitMemory bounds the growth of the process in bytes of address space, beyond what
// the runtime has reserved already.
func limitMemory(bytes uint64) error {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return fmt.Errorf("read the size of the process: %w", err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(raw), &pages); err != nil {
		return fmt.Errorf("read the size of the process: %w", err)
	}
	limit := pages*uint64(os.Getpagesize()) + bytes
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit})
}
