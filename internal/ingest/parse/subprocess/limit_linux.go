package subprocess

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// niceness is how far a child stands back for the service and its database: with 5 it gets a
// quarter of a processor that they want all the time.
const niceness = 5

// lowered returns the niceness of a child whose parent has that of this process.
func lowered() (int, error) {
	priority, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	return min(20-priority+niceness, 19), err // Linux returns 20 less the niceness
}

// lowerPriority lowers the priority of all threads of the process. Linux has one for each thread,
// and new threads inherit that of the thread that starts them; so threads that were started
// meanwhile are found in a second pass.
func lowerPriority() error {
	to, err := lowered()
	if err != nil {
		return fmt.Errorf("read the priority of the process: %w", err)
	}
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("read the threads of the process: %w", err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				continue
			}
			if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, to); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("lower the priority of the process: %w", err)
			}
		}
	}
	return nil
}

// processorTime returns the processor time that a process has used, with that of its children that have ended.
func processorTime(process int) (time.Duration, error) {
	const hertz = 100 // of the counters, on every architecture
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the third of the file is the first here
	if len(fields) < 15 {
		return 0, fmt.Errorf("processor time of the process %d: %d fields", process, len(fields))
	}
	var all time.Duration
	for _, field := range fields[11:15] { // own and children's, of the program and of the kernel
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time of the process %d: %w", process, err)
		}
		all += time.Duration(ticks) * time.Second / hertz
	}
	return all, nil
}

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
	limit := pages*uint64(os.Getpagesize()) + bytes*detectorFactor
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit})
}
