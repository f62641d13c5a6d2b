package modelserver

import (
	"runtime"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// NoLeaks calls run and fails the test if more goroutines stay than there were before. It closes the
// server's connections, so that idle ones do not count. The test must not be parallel.
func (s *Server) NoLeaks(t *testing.T, run func()) {
	t.Helper()
	before := runtime.NumGoroutine()
	run()
	wait.Goroutines(t, before, s.server.CloseClientConnections)
}
