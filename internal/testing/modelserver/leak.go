package modelserver

import (
	"runtime"
	"testing"
	"time"
)

// NoLeaks fails the test if more goroutines are left after run than before, not
// counting those of connections kept for later, which it closes. It gives them
// two seconds to end, and belongs in tests that are not parallel.
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
