package limit

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Processor divides processor time between keys. Long computations run in slots, of which
// there is one less than processors, so that short requests always find a processor.
//
// A key may have all slots while no other waits for one. Computations call Yield, which
// gives the slot to the next waiter after a slice of time; so keys with waiting
// computations take turns. Safe for concurrent use. A nil Processor limits nothing.
type Processor struct {
	slots *Limiter[string]
	slice time.Duration
}

// slice is the time after which a computation gives its slot to a waiting one. Changing
// costs some microseconds.
const slice = 5 * time.Millisecond

// NewProcessor returns a Processor with this number of slots; 0 means one less than
// GOMAXPROCS, at least one.
func NewProcessor(slots int) *Processor {
	if slots == 0 {
		slots = max(1, runtime.GOMAXPROCS(0)-1)
	}
	return &Processor{New[string](int64(slots), 0), slice}
}

// turn is a slot of a running computation.
type turn struct {
	processor *Processor
	key       string
	begun     time.Time
	lost      bool // the context ended while the slot was given away
}

type turnKey struct{}

// RunLong is Run for a computation that is worth a slot only if it is long: a short one runs at once.
func (p *Processor) RunLong(ctx context.Context, key string, long bool, work func(context.Context) error) error {
	if !long {
		return work(ctx)
	}
	return p.Run(ctx, key, work)
}

// Run waits for a slot and runs a computation for a key. The context that it passes must
// be used by one goroutine only. The computation must not wait for anything but Yield. A
// Run within another needs no second slot. Errors: Exhausted if the deadline of the context
// passes before there is a slot, the context's error if it is cancelled, that of work.
func (p *Processor) Run(ctx context.Context, key string, work func(context.Context) error) error {
	if p == nil || ctx.Value(turnKey{}) != nil {
		return work(ctx)
	}
	if err := p.acquire(ctx, key); err != nil {
		return err
	}
	t := &turn{processor: p, key: key, begun: time.Now()}
	defer func() {
		if !t.lost {
			p.slots.Release(key, 1)
		}
	}()
	return work(context.WithValue(ctx, turnKey{}, t))
}

// Enter waits for a slot for a computation that cannot yield, such as a call of a library. The
// caller must call leave once, soon. Errors: those of Run.
func (p *Processor) Enter(ctx context.Context, key string) (leave func(), err error) {
	if p == nil {
		return func() {}, ctx.Err()
	}
	if err := p.acquire(ctx, key); err != nil {
		return nil, err
	}
	return func() { p.slots.Release(key, 1) }, nil
}

func (p *Processor) acquire(ctx context.Context, key string) error {
	err := p.slots.Acquire(ctx, key)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Retry(time.Second, "no processor was free within the time of the call: send fewer requests at a time, or give them more time")
	}
	return err
}

// Yield returns the error of the context. In a computation that has a slot of a Processor
// it first lets waiting computations run, if the slice of this one has passed. Long loops
// call it at least every millisecond, or use Steps.
func Yield(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, ok := ctx.Value(turnKey{}).(*turn)
	if !ok || time.Since(t.begun) < t.processor.slice {
		return nil
	}
	if err := t.processor.slots.Pass(ctx, t.key); err != nil {
		t.lost = true
		return err
	}
	t.begun = time.Now()
	return nil
}

// stepsPerYield is some hundred microseconds of steps.
const stepsPerYield = 1 << 16

// Steps calls Yield every few thousand steps of a computation, so that a loop can check
// its context at almost no cost, and bounds their number. A step is about as much work as
// reading a byte: some nanoseconds. A nil Steps never ends the computation. It must be used by
// one goroutine only.
type Steps struct {
	ctx     context.Context // of the one computation that the value lives for
	granted int             // at the last yield
	left    int             // of these
	budgets []*budget
	err     error
}

// budget is how many steps computations may still take.
type budget struct {
	left   atomic.Int64
	beyond error
}

type budgetKey struct{}

// WithSteps returns a context in which all computations together may take n steps. Those that
// are then under way end with the error beyond.
func WithSteps(ctx context.Context, n int64, beyond error) context.Context {
	b := &budget{beyond: beyond}
	b.left.Store(n)
	return context.WithValue(ctx, budgetKey{}, b)
}

// NewSteps returns Steps that end with the context, and after the steps that WithSteps allows.
func NewSteps(ctx context.Context) *Steps {
	s := &Steps{ctx: ctx}
	if b, ok := ctx.Value(budgetKey{}).(*budget); ok {
		s.budgets = append(s.budgets, b)
	}
	return s
}

// AtMost ends the computation with the error beyond after about n more steps.
func (s *Steps) AtMost(n int64, beyond error) {
	b := &budget{beyond: beyond}
	b.left.Store(n)
	s.budgets = append(s.budgets, b)
}

// Next counts n steps. It returns false once the computation must end; Err returns why.
func (s *Steps) Next(n int) bool {
	if s == nil {
		return true
	}
	if s.left -= n; s.left > 0 {
		return true
	}
	return s.yield()
}

func (s *Steps) yield() bool {
	taken := int64(s.granted - s.left)
	s.granted, s.left = 0, 0
	for _, b := range s.budgets {
		if b.left.Add(-taken) < 0 && s.err == nil {
			s.err = b.beyond
		}
	}
	if s.err == nil {
		s.err = Yield(s.ctx)
	}
	if s.err == nil {
		s.granted, s.left = stepsPerYield, stepsPerYield
	}
	return s.err == nil
}

// Err returns the error that ended the computation, nil if Next never returned false.
func (s *Steps) Err() error {
	if s == nil {
		return nil
	}
	return s.err
}
