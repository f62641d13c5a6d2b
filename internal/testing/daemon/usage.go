package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// PeakMemory returns the most memory in bytes that the process of the service itself has
// used so far, without its children; 0 if it has ended.
func (d *Daemon) PeakMemory() int64 { return d.status("VmHWM:") }

// ResetPeakMemory makes PeakMemory count from now on.
func (d *Daemon) ResetPeakMemory() error {
	return os.WriteFile(d.proc("clear_refs"), []byte("5"), 0o600)
}

// CPU returns the processor time that the process of the service itself has used so far,
// without its children.
func (d *Daemon) CPU() time.Duration {
	stat, err := os.ReadFile(d.proc("stat"))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may contain anything; user and system time are the 12th
	// and 13th field after it, in hundredths of a second (see proc(5)).
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// Files returns the number of open files of the process of the service, connections
// included.
func (d *Daemon) Files() int {
	entries, err := os.ReadDir(d.proc("fd"))
	if err != nil {
		return 0
	}
	return len(entries)
}

// Killed returns how many processes of the service's control group were killed because
// the group had reached its limit of memory; 0 without a limit.
func (d *Daemon) Killed() int { return d.group.killed() }

func (d *Daemon) proc(name string) string {
	return filepath.Join("/proc", fmt.Sprint(d.command.Process.Pid), name)
}

// PrivateMemory returns the bytes of memory that the process of the service itself uses and
// shares with no other, without its children.
func (d *Daemon) PrivateMemory() int64 { return d.status("RssAnon:") }

// status returns the bytes in a line of the status of the process; 0 if it has ended.
func (d *Daemon) status(name string) int64 {
	status, err := os.ReadFile(d.proc("status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
