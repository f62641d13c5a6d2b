package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// rate has the latencies, the throughput and the processor time of many calls.
type rate struct {
	p50, p99  time.Duration
	perSecond float64
	calls     int
	used      cpu // by all calls
}

// side is one of the compared systems; the first is the baseline.
type side struct {
	name string
	call func(ctx context.Context, n int) error
}

// rounds is the number of turns of each side. Taking turns spreads other load on the
// machine evenly over the sides.
const rounds = 8

// measure runs calls of each side from several concurrent clients for the given duration
// in total. The sides take turns; the first round is a warm-up that does not count. used
// returns the processor time used until now.
func measure(ctx context.Context, clients int, duration time.Duration, sides []side, used func() cpu) ([]rate, error) {
	took, rates := make([][]time.Duration, len(sides)), make([]rate, len(sides))
	for round := range rounds + 1 {
		for n, s := range sides {
			before := used()
			got, err := calls(ctx, clients, duration/rounds, s.call)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			if round > 0 {
				took[n], rates[n].used = append(took[n], got...), rates[n].used.plus(used().minus(before))
			}
		}
	}
	for n, all := range took {
		slices.Sort(all)
		r := &rates[n]
		r.p50, r.p99, r.calls = all[len(all)/2], all[len(all)*99/100], len(all)
		r.perSecond = float64(r.calls) / duration.Seconds()
	}
	return rates, nil
}

// calls runs calls from several concurrent clients for the given duration, at least one
// for each client, and returns the duration of each call.
func calls(ctx context.Context, clients int, duration time.Duration, call func(ctx context.Context, n int) error) ([]time.Duration, error) {
	took := make([][]time.Duration, clients)
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	end := time.Now().Add(duration)
	for client := range clients {
		group.Go(func() error {
			for start := time.Now(); start.Before(end) || len(took[client]) == 0; start = time.Now() {
				if err := call(ctx, int(next.Add(1))); err != nil {
					return err
				}
				took[client] = append(took[client], time.Since(start))
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(took...), err
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }
