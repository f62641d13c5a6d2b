package embedded

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent makes the kernel stop the server when this process dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }

// reachable returns the name by which a child of another user finds the data
// directory, and the files that it must inherit for that. The link in /proc
// leads there directly, whoever may enter the folders above. (The working
// directory would not do: PostgreSQL before 16 returns to it by its full path.)
func reachable(dir string, a *account) (string, []*os.File, error) {
	if a == nil {
		return dir, nil, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return "/proc/self/fd/3", []*os.File{f}, nil // after stdin, stdout and stderr
}

// commandLine returns a process's program and arguments, each ended by a NUL, and
// "" for a process that is gone or a zombie. It needs no rights on the process.
func commandLine(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(text)
}

// smallSharedMemory tells whether /dev/shm is too small to count on.
func smallSharedMemory() bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &st); err != nil {
		return true
	}
	return int64(st.Blocks)*st.Bsize < gib
}

// memoryBytes returns the memory of the machine, or of our control group if that
// has less.
func memoryBytes() int64 {
	total := int64(4 * gib) // if nothing can be learned
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if kb, ok := meminfoTotal(string(text)); ok {
			total = kb * 1024
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
			total = min(total, limit)
		}
	}
	return min(total, math.MaxInt64/2)
}

// meminfoTotal reads the line "MemTotal:  24576000 kB".
func meminfoTotal(text string) (kb int64, ok bool) {
	for line := range strings.Lines(text) {
		if n, found := strings.CutPrefix(line, "MemTotal:"); found {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(n), "kB")), 10, 64)
			return kb, err == nil
		}
	}
	return 0, false
}
