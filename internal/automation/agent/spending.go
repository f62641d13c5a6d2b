package agent

import (
	"context"
	"sync"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// spending is what a run has taken, with the runs of the agents that it asks. Safe for concurrent
// use.
type spending struct {
	outer  *spending // of the agent that asks this one; nil for none
	agent  string
	limits Limits

	mu            sync.Mutex
	input, output int
	cost          float64
}

type spendingKey struct{}

// withSpending returns a context in which the runs of further agents count towards s too.
func withSpending(ctx context.Context, s *spending) context.Context {
	return context.WithValue(ctx, spendingKey{}, s)
}

func newSpending(ctx context.Context, agent string, limits Limits) *spending {
	outer, _ := ctx.Value(spendingKey{}).(*spending)
	return &spending{outer: outer, agent: agent, limits: limits}
}

// add adds a turn of a model.
func (s *spending) add(used llm.Usage, cost float64) {
	for ; s != nil; s = s.outer {
		s.mu.Lock()
		s.input, s.output, s.cost = s.input+used.InputTokens, s.output+used.OutputTokens, s.cost+cost
		s.mu.Unlock()
	}
}

// check returns an error if the agent, or one that waits for it, may take nothing more.
func (s *spending) check() error {
	for ; s != nil; s = s.outer {
		input, output, cost := s.sum()
		switch {
		case input+output >= s.limits.Tokens:
			return fault.New(fault.Exhausted, "agent %q has not answered within %d tokens (limits.tokens)", s.agent, s.limits.Tokens)
		case s.limits.Cost > 0 && cost >= s.limits.Cost:
			return fault.New(fault.Exhausted, "agent %q has not answered for a cost of %g (limits.cost)", s.agent, s.limits.Cost)
		}
	}
	return nil
}

func (s *spending) sum() (input, output int, cost float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.input, s.output, s.cost
}
