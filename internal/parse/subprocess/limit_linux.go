package subprocess

import (
	"fmt"
	"os"
	"syscall"
)

// limitMemory lets the process grow by so many bytes and no further. It counts
// address space, of which the runtime has reserved some already.
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
