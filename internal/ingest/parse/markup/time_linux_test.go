package markup

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of the thread. What else the machine does is not in it.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
