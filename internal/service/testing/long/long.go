// Package long leaves out tests that take long, unless they are asked for: `make test-long` runs them.
//
// A test belongs here if it repeats what a shorter test shows, more often or on more data: kills at random
// moments, crash loops, soak, fairness under load, large inputs.
package long

import (
	"os"
	"testing"
)

// Rounds returns how often a property is tried on random inputs: all times with RAGD_TEST_LONG, else a tenth
// of them.
func Rounds(all int) int {
	if os.Getenv("RAGD_TEST_LONG") == "" {
		return all / 10
	}
	return all
}

// Only skips a test unless RAGD_TEST_LONG is set.
func Only(t testing.TB) {
	t.Helper()
	if os.Getenv("RAGD_TEST_LONG") == "" {
		t.Skip("it takes long: run make test-long, or set RAGD_TEST_LONG=1")
	}
}
