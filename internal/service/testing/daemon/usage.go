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
func (d *Daemon) CPU() time.Duration { return ticks(d.command.Process.Pid, utime, stime) }

// DatabaseCPU returns the processor time that the service's own PostgreSQL has used so
// far, with all its processes, ended ones too.
func (d *Daemon) DatabaseCPU() time.Duration {
	postmaster := d.Postmaster()
	used := ticks(postmaster, utime, stime, cutime, cstime)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", postmaster, postmaster))
	if err != nil {
		return used
	}
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			used += ticks(pid, utime, stime)
		}
	}
	return used
}

// Fields of /proc/PID/stat after the name of the program, see proc_pid_stat(5): user and
// system time of the process and of its children that have ended, in hundredths of a
// second.
const (
	utime  = 11
	stime  = 12
	cutime = 13
	cstime = 14
)

// ticks returns the sum of some of these fields; 0 for a process that has ended.
func ticks(pid int, fields ...int) (sum time.Duration) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may contain anything
	values := strings.Fields(rest)
	for _, n := range fields {
		if n < len(values) {
			value, _ := strconv.ParseInt(values[n], 10, 64)
			sum += time.Duration(value) * 10 * time.Millisecond
		}
	}
	return sum
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
