// Package wait lets tests wait until something has happened. It is the one package of tests that
// sleeps: a test that waits for a condition passes on a slow machine as on a fast one.
package wait

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// patience is how long a condition may take. It only ends tests that would wait for ever, so it is
// far longer than a busy machine needs.
const patience = 5 * time.Minute

// Conditions are checked often at first, since most hold soon, and then more seldom.
const shortest, longest = time.Millisecond, 20 * time.Millisecond

// For waits until holds returns true. It ends the test with what was awaited if that takes minutes.
func For(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if !Until(ctx, holds) {
		t.Fatalf("waited %v in vain for %s", patience, what)
	}
}

// Until waits until holds returns true, and reports whether it did before ctx ended.
func Until(ctx context.Context, holds func() bool) bool {
	for pause := shortest; !holds(); pause = min(2*pause, longest) {
		if ctx.Err() != nil {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Poll repeats the body of a range loop, with pauses, until the body breaks or returns. It ends the
// test with what was awaited if that takes minutes.
//
//	for range wait.Poll(t, "the job to end") {
//		if job, err = c.GetJob(ctx, id); err != nil || job.Ended() {
//			break
//		}
//	}
func Poll(t testing.TB, what string) func(yield func() bool) {
	t.Helper()
	return func(yield func() bool) {
		t.Helper()
		For(t, what, func() bool { return !yield() })
	}
}

// Rest reads a value until it comes to rest: ten times in turn and for at least the time given, it is
// the same as before. It returns the value, and ends the test if that takes minutes.
func Rest[T any](t testing.TB, what string, least time.Duration, same func(a, b T) bool, read func() T) T {
	t.Helper()
	last, since, times := read(), time.Now(), 0
	For(t, what+" to come to rest", func() bool {
		now := read()
		if times++; !same(last, now) {
			last, since, times = now, time.Now(), 0
		}
		return times >= 10 && time.Since(since) >= least
	})
	return last
}

// Goroutines waits until the process has at most so many goroutines. It ends the test with the stacks
// of all if that takes minutes. Each time before it counts, it calls release, if that is not nil. The
// test must not be parallel.
func Goroutines(t testing.TB, most int, release func()) {
	t.Helper()
	defer func() {
		if runtime.NumGoroutine() > most {
			stacks := make([]byte, 1<<20)
			t.Logf("%s", stacks[:runtime.Stack(stacks, true)])
		}
	}()
	For(t, fmt.Sprintf("at most %d goroutines", most), func() bool {
		if release != nil {
			release()
		}
		return runtime.NumGoroutine() <= most
	})
}

// Advance moves the clock of a synctest bubble by d, once all other goroutines of the bubble are
// blocked, and returns when they are blocked again. It panics outside of a bubble.
func Advance(d time.Duration) {
	synctest.Wait()
	time.Sleep(d)
	synctest.Wait()
}
