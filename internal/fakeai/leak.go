package fakeai

import (
	"runtime"
	"testing"
	"time"
)

// NoLeaks fails the test if, once run has returned, more goroutines are left
// than before. It gives them two seconds to end, and belongs in tests that are
// not parallel. The server of a test is counted as it is before run.
func NoLeaks(t *testing.T, run func()) {
	t.Helper()
	before := runtime.NumGoroutine()
	run()
	var after int
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if after = runtime.NumGoroutine(); after <= before {
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines before, %d after:\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
}
