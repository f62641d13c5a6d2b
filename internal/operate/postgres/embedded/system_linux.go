package embedded

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent makes the kernel send the server SIGINT, for a fast shutdown, when this
// process dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }

// reachable returns a path of the data directory that a child process of the account can
// use, and the files that the child must inherit for it. For another user that is a link
// in /proc to an open descriptor, which needs no rights on the folders above. (A working
// directory would not be enough: PostgreSQL before 16 returns to it by its full path.)
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

// commandLine returns a process's program and arguments, each followed by a NUL; "" for a
// zombie or a process that does not exist. It needs no rights on the process.
func commandLine(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(text)
}

// smallSharedMemory reports whether /dev/shm is smaller than 1 GiB.
func smallSharedMemory() bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &st); err != nil {
		return true
	}
	return int64(st.Blocks)*st.Bsize < gib
}

// memoryBytes returns the memory of the machine, or the limit of this process's control
// group if that is less.
func memoryBytes() int64 {
	total := int64(4 * gib) // if it cannot be read
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

// meminfoTotal returns the value of the line "MemTotal:  24576000 kB" of /proc/meminfo.
func meminfoTotal(text string) (kb int64, ok bool) {
	for line := range strings.Lines(text) {
		if n, found := strings.CutPrefix(line, "MemTotal:"); found {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(n), "kB")), 10, 64)
			return kb, err == nil
		}
	}
	return 0, false
}
