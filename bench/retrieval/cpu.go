package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/daemon"
)

// cpu is processor time, by who used it. It depends less than wall-clock time on what
// else runs on the machine.
type cpu struct {
	client   time.Duration // this program
	ragd     time.Duration
	database time.Duration // all processes of the PostgreSQL server
}

func (c cpu) minus(d cpu) cpu {
	return cpu{c.client - d.client, c.ragd - d.ragd, c.database - d.database}
}

func (c cpu) plus(d cpu) cpu {
	return cpu{c.client + d.client, c.ragd + d.ragd, c.database + d.database}
}

// per returns the microseconds of one of n calls as cells of a table.
func (c cpu) per(n int) string {
	us := func(d time.Duration) int64 { return d.Microseconds() / int64(max(n, 1)) }
	return fmt.Sprintf("%d | %d | %d", us(c.client), us(c.ragd), us(c.database))
}

// usedBy returns what this program, a daemon and its database have used until now. Where
// there is no /proc it is zero.
func usedBy(d *daemon.Daemon) cpu {
	used := cpu{client: usedByProcess(os.Getpid()), ragd: usedByProcess(d.Process())}
	server := d.Postmaster()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		// The parent is the second field after the name, which may contain spaces.
		fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(server) {
			used.database += usedByProcess(pid)
		}
	}
	return used
}

// usedByProcess returns the processor time of the threads of a process.
func usedByProcess(pid int) (total time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, path := range threads {
		content, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		ns, _, _ := strings.Cut(string(content), " ")
		if n, err := strconv.ParseInt(ns, 10, 64); err == nil {
			total += time.Duration(n)
		}
	}
	return total
}
