package wait_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func TestForAndPollWaitUntilTheConditionHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		late := func() bool { return time.Since(begun) >= time.Minute }
		wait.For(t, "a minute", late)
		if !late() {
			t.Errorf("For returned after %v", time.Since(begun))
		}
		begun = time.Now()
		bodies := 0
		for range wait.Poll(t, "a minute") {
			if bodies++; late() {
				break
			}
		}
		if !late() || bodies < 2 {
			t.Errorf("Poll ended after %v and %d bodies", time.Since(begun), bodies)
		}
	})
}

func TestUntilEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if wait.Until(ctx, func() bool { return false }) {
			t.Error("what never holds did")
		}
		if !wait.Until(ctx, func() bool { return true }) {
			t.Error("what holds did not, as the context has ended")
		}
	})
}

func TestRestIsTheLastValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		seconds := func() int { return int(min(time.Since(begun), time.Minute).Seconds()) }
		same := func(a, b int) bool { return a == b }
		if n := wait.Rest(t, "the seconds", 5*time.Second, same, seconds); n != 60 {
			t.Errorf("at rest at %d", n)
		}
		if took := time.Since(begun); took < 65*time.Second {
			t.Errorf("at rest after %v", took)
		}
	})
}

func TestAdvanceMovesTheClockOfABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, fired := time.Now(), false
		time.AfterFunc(time.Hour, func() { fired = true })
		wait.Advance(time.Hour)
		if time.Since(begun) != time.Hour || !fired {
			t.Errorf("%v later, the timer has fired: %v", time.Since(begun), fired)
		}
	})
}
