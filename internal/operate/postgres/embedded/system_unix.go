//go:build unix && !linux

package embedded

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent does nothing on this system: the next Start stops an orphaned server.
func dieWithParent(*syscall.SysProcAttr) {}

// reachable returns the path itself. A server of another user needs access to all folders
// on it.
func reachable(dir string, _ *account) (string, []*os.File, error) { return dir, nil, nil }

// commandLine returns a process's program and arguments; "" for a process that does not
// exist.
func commandLine(pid int) string {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// smallSharedMemory returns false: only Linux has /dev/shm.
func smallSharedMemory() bool { return false }

// memoryBytes returns the memory of the machine.
func memoryBytes() int64 {
	out, err := exec.Command("sysctl", "-n", "hw.memsize").Output()
	if n, perr := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err == nil && perr == nil {
		return n
	}
	return 4 * gib
}
