package move

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/job"
)

// At lets a test do something before each step of moves, and waits less after the switch.
func (c Config) At(step func(name string)) Config {
	c.step, c.settle = step, time.Millisecond
	return c
}

// Attempt makes one attempt at a move, as its task does.
func (s *Service) Attempt(ctx context.Context, m Move, last bool) error {
	return s.run(ctx, job.Attempt{Task: job.Task{Tenant: m.TenantID, Name: m.ID}, Number: 1, Last: last})
}
