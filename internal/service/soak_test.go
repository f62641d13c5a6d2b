package service_test

import (
	"context"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// footprint is what a process holds.
type footprint struct {
	goroutines, files, connections int
	heap                           uint64 // bytes that are in use after a collection
}

func footprintOf(t *testing.T, s *servicetest.Service) footprint {
	t.Helper()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	files, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return footprint{runtime.NumGoroutine(), len(files), int(s.ServicePool.Stat().TotalConns()), memory.HeapAlloc}
}

// Under a load that replaces, deletes and searches the same documents again and again, the service
// holds no more at the end than after the first third: for 9 s, or with RAGD_TEST_HUGE for half an hour.
func TestASteadyLoadLeavesNothingBehind(t *testing.T) { // not parallel: it counts what the process holds
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip(err)
	}
	third := 3 * time.Second
	if os.Getenv("RAGD_TEST_HUGE") != "" {
		third = 10 * time.Minute
	}
	s := servicetest.New(t, service.Config{})
	l := &load{t: t, acknowledged: map[string]map[string][]string{"acme": {}, "bolt": {}}, failed: map[connect.Code]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for _, tenant := range []string{"acme", "bolt"} {
		c := s.Tenant(t, tenant)
		c.Index(t, "docs")
		for writer := range writers {
			group.Go(func() { l.write(ctx, tenant, writer, c) })
		}
		group.Go(func() { l.read(ctx, tenant, c) })
	}
	<-time.After(third)
	early := footprintOf(t, s)
	for range 2 {
		<-time.After(third)
		t.Logf("after %v: %+v", third, footprintOf(t, s))
	}
	late := footprintOf(t, s)
	cancel()
	group.Wait()
	t.Logf("%d calls, failed %v; after a third %+v, at the end %+v", l.calls, l.failed, early, late)
	if late.goroutines > early.goroutines+30 || late.files > early.files+30 || late.connections > early.connections+10 {
		t.Errorf("it holds %+v at the end, and %+v after a third", late, early)
	}
	if grown := int64(late.heap) - int64(early.heap); grown > int64(early.heap)/4+16<<20 {
		t.Errorf("%d bytes are in use at the end, and %d after a third", late.heap, early.heap)
	}
	if len(l.failed) > 0 {
		t.Errorf("calls failed: %v", l.failed)
	}
}
