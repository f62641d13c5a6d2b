package modelserver

import (
	"runtime"
	"testing"
	"time"
)

// NoLeaks calls run and fails the test if more goroutines exist two seconds later than
// before. It closes the server's connections, so that idle ones do not count. The test
// must not be parallel.
func (s *Server) NoLeaks(t *testing.T, run func()) {
	t.Helper()
	before := runtime.NumGoroutine()
	run()
	var after int
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		s.server.CloseClientConnections()
		if after = runtime.NumGoroutine(); after <= before {
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines before, %d after:\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
}
