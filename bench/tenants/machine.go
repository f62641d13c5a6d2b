package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// heapLog reads the size of the live heap from the lines that a Go program with
// GODEBUG=gctrace=1 writes, and copies all others to standard error.
type heapLog struct {
	mu   sync.Mutex
	rest []byte
	live int64 // bytes after the last collection
}

var gcLine = regexp.MustCompile(`^gc \d+ @.* \d+->\d+->(\d+) MB`)

// Write implements io.Writer.
func (h *heapLog) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rest = append(h.rest, p...)
	for {
		line, rest, found := bytes.Cut(h.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		if m := gcLine.FindSubmatch(line); m != nil {
			mb, _ := strconv.ParseInt(string(m[1]), 10, 64)
			h.live = mb << 20
		} else if !bytes.HasPrefix(line, []byte("gc ")) {
			fmt.Fprintf(os.Stderr, "%s\n", line)
		}
		h.rest = rest
	}
}

// size returns the size of the live heap in bytes.
func (h *heapLog) size() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live
}

// process is a process of the database server.
type process struct {
	title     string
	pss, anon int64 // bytes: proportional size, and private memory
	cpu       time.Duration
}

// client reports whether the process serves a connection of ragd.
func (p process) client() bool { return strings.Contains(p.title, "[local]") }

// children returns the processes whose parent is pid.
func children(pid int) []process {
	var found []process
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		fields := statFields(path)
		if len(fields) < 15 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		dir := filepath.Dir(path)
		title, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		found = append(found, process{
			title: strings.TrimRight(string(title), "\x00 "),
			pss:   kilobytes(filepath.Join(dir, "smaps_rollup"), "Pss:"),
			anon:  kilobytes(filepath.Join(dir, "status"), "RssAnon:"),
			cpu:   ticks(fields[11], fields[12]),
		})
	}
	return found
}

// serverCPU returns the processor time of the server with this postmaster, of the
// processes that run and of those that have ended.
func serverCPU(postmaster int) time.Duration {
	own := func() time.Duration { // with that of the processes that have ended
		if fields := statFields(fmt.Sprintf("/proc/%d/stat", postmaster)); len(fields) > 14 {
			return ticks(fields[11:15]...)
		}
		return 0
	}
	for {
		before, total := own(), time.Duration(0)
		for _, p := range children(postmaster) {
			total += p.cpu
		}
		if own() == before { // none ended meanwhile
			return before + total
		}
	}
}

// statFields returns the fields of a stat file from the third on: state, parent, ...
func statFields(path string) []string {
	stat, _ := os.ReadFile(path)
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may contain anything
	return strings.Fields(rest)
}

// ticks returns the sum of times in hundredths of a second.
func ticks(fields ...string) time.Duration {
	var sum time.Duration
	for _, f := range fields {
		n, _ := strconv.ParseInt(f, 10, 64)
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum
}

// kilobytes returns the bytes in the line of a file that begins with name.
func kilobytes(path, name string) int64 {
	content, _ := os.ReadFile(path)
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			kb, _ := strconv.ParseInt(fields[1], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// filesIn returns the number of files below a folder.
func filesIn(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return nil // files come and go
	})
	return n
}
