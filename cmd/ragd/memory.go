package main

import (
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory makes the garbage collector keep the process within half of the memory
// of its control group, such as a container. The rest is for an embedded database, and
// for readers of files. It does nothing without a control group, or if GOMEMLIMIT is set.
func limitMemory(root fs.FS, getenv func(string) string) {
	if limit := groupMemory(root); limit < math.MaxInt64 && getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 2)
	}
}

// gcPercent is the garbage collector's target of the service, unless GOGC is set. The heap of
// a busy service is some ten MB, and at the default of 100 the collector took an eighth of
// the processor time of an ingest.
const gcPercent = 150

// collectLess sets gcPercent.
func collectLess(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// groupMemory returns the least memory limit of the process's control groups, of version 1
// or 2, in bytes; math.MaxInt64 without a limit. root is the root of the file system.
func groupMemory(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // id:controllers:path
		if len(parts) < 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		if parts[1] == "memory" {
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		// A container may see its own group as the root.
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			raw, err := fs.ReadFile(root, path.Join(mount, group, file))
			limit, bad := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
			const unlimited = 1 << 60 // version 1 has a number close to the greatest for "no limit"
			if err == nil && bad == nil && limit > 0 && limit < unlimited {
				least = min(least, limit)
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}
