package limit

import (
	"errors"
	"testing"
)

var (
	errOwn = errors.New("the computation takes too much")
	errAll = errors.New("all computations take too much")
)

// run takes steps, a thousand at a time, and returns how many it took.
func run(s *Steps, most int) int {
	taken := 0
	for taken < most && s.Next(1000) {
		taken += 1000
	}
	return taken
}

func TestStepsAreBounded(t *testing.T) {
	t.Parallel()
	ctx := WithSteps(t.Context(), 5_000_000, errAll)
	first := NewSteps(ctx)
	first.AtMost(2_000_000, errOwn)
	if n := run(first, 1_000_000); n != 1_000_000 || first.Err() != nil {
		t.Errorf("%d steps, %v", n, first.Err())
	}
	if n := run(first, 10_000_000); n > 1_000_000+2*stepsPerYield || !errors.Is(first.Err(), errOwn) {
		t.Errorf("%d steps more, %v", n, first.Err())
	}
	if first.Next(1) || !errors.Is(first.Err(), errOwn) {
		t.Error("it goes on after its end")
	}
	second := NewSteps(ctx) // of the same computation: 3,000,000 are left
	if n := run(second, 10_000_000); n > 3_000_000+2*stepsPerYield || n < 3_000_000-2*stepsPerYield || !errors.Is(second.Err(), errAll) {
		t.Errorf("%d steps of another part, %v", n, second.Err())
	}
	if NewSteps(ctx).Next(1) {
		t.Error("a third part begins although no steps are left")
	}
	if n := run(NewSteps(t.Context()), 10_000_000); n != 10_000_000 {
		t.Errorf("%d steps without a bound", n)
	}
}
