package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func TestMemoryOfTheControlGroup(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"none":                     {nil, math.MaxInt64},
		"version 2":                {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n"}, 1000},
		"version 2, of a parent":   {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "500\n"}, 500},
		"version 2 in a container": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/memory.max": "700\n"}, 700},
		"version 2 without limit":  {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, math.MaxInt64},
		"version 1":                {map[string]string{"proc/self/cgroup": "5:cpu:/x\n4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "900\n"}, 900},
		"version 1 without limit":  {map[string]string{"proc/self/cgroup": "4:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, math.MaxInt64},
	} {
		root := fstest.MapFS{}
		for path, text := range tc.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := groupMemory(root); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// Not parallel: it looks at the memory of the whole process.
func TestMemoryOfABurstIsReturned(t *testing.T) {
	held := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64() + sample[1].Value.Uint64()
	}
	// A collection in the middle of the burst would take it for what is in use.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	burst := make([][]byte, 256)
	for i := range burst {
		burst[i] = make([]byte, 1<<20)
	}
	before := held()
	clear(burst)
	go returnMemory(t.Context(), 10*time.Millisecond, &usage{})
	wait.For(t, "the memory to be given back", func() bool { return held() <= before-(128<<20) })
}
