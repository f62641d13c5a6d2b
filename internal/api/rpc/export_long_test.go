package rpc_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// TestExportOfManyChunks measures an export, and how much memory service and client take together beside what they had before.
func TestExportOfManyChunks(t *testing.T) {
	long.Only(t)
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	const all, batch = 100_000, 5_000
	need(t)(c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", Dimension: 64}))
	text := strings.Repeat("mast and rope and sail ", 25)
	for from := 0; from < all; from += batch {
		entries := make([]*ragdv1.Entry, batch)
		for n := range entries {
			values := make([]float32, 64)
			values[n%64] = 1
			entries[n] = &ragdv1.Entry{Id: fmt.Sprintf("v%06d", from+n), Values: values, Document: text, Metadata: servicetest.Object(t, map[string]any{"n": from + n})}
		}
		need(t)(c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "docs", Entries: entries}))
	}
	var before, now runtime.MemStats
	for _, fields := range [][]string{nil, {"text", "metadata", "vector"}} {
		runtime.GC()
		runtime.ReadMemStats(&before)
		began, rows, peak := time.Now(), 0, uint64(0)
		stream := need(t)(c.ExportChunks(t.Context(), &ragdv1.ExportChunksRequest{IndexName: "docs", Fields: fields})).(interface {
			Receive() bool
			Msg() *ragdv1.ExportChunksResponse
			Err() error
		})
		for stream.Receive() {
			rows += len(stream.Msg().GetChunks())
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
		}
		if stream.Err() != nil || rows != all {
			t.Fatalf("exported %d chunks, %v", rows, stream.Err())
		}
		t.Logf("fields %v: %d chunks in %v, %.0f/s; heap at most %.1f MiB above %.1f MiB", fields, rows, time.Since(began), float64(rows)/time.Since(began).Seconds(),
			(float64(peak)-float64(before.HeapAlloc))/(1<<20), float64(before.HeapAlloc)/(1<<20))
	}
}
