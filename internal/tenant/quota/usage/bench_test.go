package usage

import (
	"testing"
)

// BenchmarkAdd measures what counting adds to a search.
func BenchmarkAdd(b *testing.B) {
	m, err := NewMeter(Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Add(InIndex(b.Context(), "docs"), "acme", Query, Counts{Calls: 1})
		}
	})
}
