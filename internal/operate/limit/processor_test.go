package limit

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// compute stands for a computation of n slices. It appends its key to order at the
// beginning of each.
func compute(order *[]string, key string, n int) func(context.Context) error {
	return func(ctx context.Context) error {
		for range n {
			*order = append(*order, key)
			<-time.After(slice)
			if err := Yield(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestComputationsOfTwoKeysTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewProcessor(1)
		var order []string
		run := func(key string, n int) {
			go func() {
				if err := p.Run(t.Context(), key, compute(&order, key, n)); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		run("a", 5)
		run("a", 2)
		run("a", 2)
		run("b", 3)
		wait.Advance(time.Minute)
		if want := []string{"a", "a", "b", "a", "b", "a", "b", "a", "a", "a", "a", "a"}; !slices.Equal(order, want) {
			t.Errorf("ran in the order %v, want %v", order, want)
		}
		if p.slots.used != 0 || len(p.slots.keys) != 0 {
			t.Errorf("%d slots are used by nobody", p.slots.used)
		}
	})
}

func TestOneKeyMayHaveAllSlotsWhileNoOtherWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewProcessor(3)
		for range 3 {
			go func() {
				var order []string
				_ = p.Run(t.Context(), "a", compute(&order, "a", 4))
			}()
		}
		synctest.Wait()
		if used := p.slots.Used("a"); used != 3 {
			t.Errorf("%d slots are used, want 3", used)
		}
		begun := time.Now()
		if err := p.Run(t.Context(), "b", func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		if waited := time.Since(begun); waited > slice {
			t.Errorf("another key waited for %s, want at most a slice of %s", waited, slice)
		}
		wait.Advance(time.Minute) // until all have ended
	})
}

func TestAComputationWithinAnotherNeedsNoSecondSlot(t *testing.T) {
	t.Parallel()
	p := NewProcessor(1)
	err := p.Run(t.Context(), "a", func(ctx context.Context) error {
		return p.Run(ctx, "a", func(context.Context) error { return nil })
	})
	if err != nil || p.slots.used != 0 {
		t.Errorf("%v, %d slots are used", err, p.slots.used)
	}
	var none *Processor
	if err := none.Run(t.Context(), "a", func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestWaitingForAProcessorEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewProcessor(1)
		hold := make(chan struct{})
		go func() { _ = p.Run(t.Context(), "a", func(context.Context) error { <-hold; return nil }) }()
		synctest.Wait()
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Run(late, "b", compute(nil, "b", 1)); fault.KindOf(err) != fault.Exhausted {
			t.Errorf("after the deadline: %v", err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if err := p.Run(gone, "b", compute(nil, "b", 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("after its caller left: %v", err)
		}
		close(hold)
		synctest.Wait()
	})
}

// A computation whose caller leaves while others have its slot does not return the slot
// twice.
func TestAComputationThatEndsBetweenItsTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewProcessor(1)
		var order []string
		ctx, leave := context.WithTimeout(t.Context(), slice+slice/2)
		defer leave()
		go func() {
			if err := p.Run(ctx, "a", compute(&order, "a", 10)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		}()
		synctest.Wait()
		if err := p.Run(t.Context(), "b", compute(&order, "b", 3)); err != nil {
			t.Error(err)
		}
		if want := []string{"a", "b", "b", "b"}; !slices.Equal(order, want) {
			t.Errorf("ran in the order %v, want %v", order, want)
		}
		if p.slots.used != 0 || len(p.slots.keys) != 0 {
			t.Errorf("%d slots are used by nobody", p.slots.used)
		}
	})
}

func TestStepsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := NewSteps(ctx)
	if !s.Next(1) {
		t.Fatal("ended at once")
	}
	cancel()
	n := 0
	for s.Next(1) {
		n++
	}
	if n > stepsPerYield || !errors.Is(s.Err(), context.Canceled) || s.Next(0) {
		t.Errorf("%d steps after the end, %v", n, s.Err())
	}
	var none *Steps
	if !none.Next(1<<40) || none.Err() != nil {
		t.Error("ended without a context")
	}
}
