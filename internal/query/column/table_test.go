package column

import (
	"fmt"
	"runtime"
	"testing"
)

// The size that a table says it has is about the memory that it takes.
func TestTheSizeOfATableIsMeasured(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for name, different := range map[string]int{"few values": 100, "many values": 50_000} {
		before := heap()
		table := newTable([]string{"a", "b", "c"})
		for n := range 100_000 {
			value := fmt.Appendf(nil, `"the value %d"`, n%different)
			table.add(row{owner: ownerOf(nil, fmt.Append(nil, n)), namespace: []byte("default"), values: [][]byte{value, fmt.Append(nil, n%different), value}})
		}
		taken, said := heap()-before, table.bytes()
		if runtime.KeepAlive(table); float64(said) < 0.6*float64(taken) || float64(said) > 1.6*float64(taken) {
			t.Errorf("%s: it takes %d bytes and says %d", name, taken, said)
		}
	}
}
