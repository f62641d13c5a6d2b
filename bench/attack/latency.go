package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// latencies are the durations of a tenant's calls, ascending.
type latencies []time.Duration

func (l latencies) at(percent int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, len(l)*percent/100)]
}

func (l latencies) String() string {
	return fmt.Sprintf("p50 %s p99 %s", milliseconds(l.at(50)), milliseconds(l.at(99)))
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// pause is the time between two calls of the victim, so that its own calls are no load.
const pause = 15 * time.Millisecond

// measure repeats a call of the victim until ctx ends.
func measure(ctx context.Context, call func(context.Context) answer) (latencies, error) {
	var all latencies
	for ctx.Err() == nil {
		// A call that has begun is measured to its end.
		a := call(context.WithoutCancel(ctx))
		if a.code != "ok" {
			return all, fmt.Errorf("the other tenant's call: %s: %s", a.code, brief(a.text))
		}
		all = append(all, a.took)
		time.Sleep(pause)
	}
	return all, nil
}

const (
	// rounds is the number of turns, each of a round alone and one under attack.
	rounds = 3
	round  = 4 * time.Second
	// slack is a growth of latency that does not count: a few time slices of the machine.
	slack = 5 * time.Millisecond
)

// fairness is an attack that wants to slow down another tenant.
type fairness struct {
	service *arena
	clients int                                             // of the attacker
	attack  func(ctx context.Context, client, n int) answer // the nth call of a client
	victim  []question                                      // of the other tenant, in turns
}

// run measures the victim alone and under attack, in turns, which spread other load on the
// machine over both.
func (f fairness) run(ctx context.Context) (result, error) {
	var alone, attacked latencies
	var attacks []answer
	for range rounds {
		f.settle()
		quiet, err := ask(ctx, f.victim)
		alone = append(alone, quiet...)
		if err != nil {
			return result{}, err
		}
		busy, answers, err := f.underAttack(ctx)
		attacked, attacks = append(attacked, busy...), append(attacks, answers...)
		if err != nil {
			r := result{answer: tally(attacks)}
			r.breaks("%v", err)
			return r, nil
		}
	}
	slices.Sort(alone)
	slices.Sort(attacked)
	r := reject(attacks)
	r.answer += fmt.Sprintf("; other tenant alone %v, under attack %v", alone, attacked)
	if a, b := alone.at(50), attacked.at(50); b > 2*a+slack {
		r.breaks("the other tenant's p50 grew to %.1fx", float64(b)/float64(a))
	}
	if a, b := alone.at(99), attacked.at(99); b > 2*a+slack {
		r.breaks("the other tenant's p99 grew to %.1fx", float64(b)/float64(a))
	}
	return r, nil
}

// settle waits until the service no longer works on earlier calls, at most 30 seconds.
func (f fairness) settle() {
	const window = 500 * time.Millisecond
	for range 60 {
		before := f.service.CPU()
		time.Sleep(window)
		if f.service.CPU()-before < idle/2 {
			return
		}
	}
}

// underAttack measures the victim while the attacker's clients call without a pause.
func (f fairness) underAttack(ctx context.Context) (latencies, []answer, error) {
	attacking, stop := context.WithCancel(ctx)
	var mu sync.Mutex
	var answers []answer
	var clients sync.WaitGroup
	for client := range f.clients {
		clients.Go(func() {
			for n := 0; attacking.Err() == nil; n++ {
				a := f.attack(attacking, client, n)
				mu.Lock()
				answers = append(answers, a)
				mu.Unlock()
				if a.code != "ok" {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	time.Sleep(500 * time.Millisecond) // until the attack is under way
	busy, err := ask(ctx, f.victim)
	stop()
	clients.Wait()
	return busy, slices.DeleteFunc(answers, func(a answer) bool { return a.code == "left" }), err
}
