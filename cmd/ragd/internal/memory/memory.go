// Package memory keeps the memory of a service's process small: within what its container may
// take, and after bursts of requests.
package memory

import (
	"context"
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// Limit makes the garbage collector keep the process within half of the memory
// of its control group, such as a container. The rest is for an embedded database, and
// for readers of files. It does nothing without a control group, or if GOMEMLIMIT is set.
func Limit(root fs.FS, getenv func(string) string) {
	if limit := groupMemory(root); limit < math.MaxInt64 && getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 2)
	}
}

// gcPercent is the garbage collector's target of the service, unless GOGC is set. The heap of
// a busy service is some ten MB, and at the default of 100 the collector took an eighth of
// the processor time of an ingest.
const gcPercent = 150

// CollectLess sets gcPercent.
func CollectLess(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// The collector runs when the heap has grown, so that what a burst of requests leaves behind stays
// for as long as nothing else is allocated.
const (
	calmInterval = 5 * time.Second
	// calmBytes is how little is allocated in an interval without a burst.
	calmBytes = 32 << 20
	// spareBytes is how much garbage and free memory is worth a collection.
	spareBytes = 32 << 20
)

// KeepSpare returns memory to the system after bursts of requests, until ctx ends.
func KeepSpare(ctx context.Context) { returnMemory(ctx, calmInterval, &usage{}) }

// returnMemory looks at intervals whether memory can be returned, until ctx ends.
func returnMemory(ctx context.Context, every time.Duration, u *usage) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if u.spare() {
			debug.FreeOSMemory()
		}
	}
}

// usage watches what the process allocates.
type usage struct{ allocated uint64 }

// spare reports whether little was allocated since the last call, and much can be returned.
func (u *usage) spare() bool {
	sample := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(sample)
	allocated, objects, live, free := sample[0].Value.Uint64(), sample[1].Value.Uint64(), sample[2].Value.Uint64(), sample[3].Value.Uint64()
	calm := allocated-u.allocated < calmBytes
	u.allocated = allocated
	return calm && objects+free > live+spareBytes
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
