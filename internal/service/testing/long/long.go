// Package long leaves out tests that take long, unless they are asked for: `make test-long` runs them.
//
// A test belongs here if it repeats what a shorter test shows, more often or on more data: kills at random
// moments, crash loops, soak, fairness under load, large inputs.
package long

import (
	"os"
	"testing"
)

// Only skips a test unless RAGD_TEST_LONG is set.
func Only(t testing.TB) {
	t.Helper()
	if os.Getenv("RAGD_TEST_LONG") == "" {
		t.Skip("it takes long: run make test-long, or set RAGD_TEST_LONG=1")
	}
}
