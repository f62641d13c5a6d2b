//go:build unix && !linux

package embedded

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent does nothing here: the next Start finds the orphan.
func dieWithParent(*syscall.SysProcAttr) {}

// reachable returns the path itself: a server of another user must be able to
// walk it.
func reachable(dir string, _ *account) (string, []*os.File, error) { return dir, nil, nil }

// commandLine returns a process's program and arguments, and "" for a process
// that is gone.
func commandLine(pid int) string {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// smallSharedMemory is about /dev/shm, which is Linux's.
func smallSharedMemory() bool { return false }

// memoryBytes returns the machine's memory.
func memoryBytes() int64 {
	out, err := exec.Command("sysctl", "-n", "hw.memsize").Output()
	if n, perr := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err == nil && perr == nil {
		return n
	}
	return 4 * gib
}
