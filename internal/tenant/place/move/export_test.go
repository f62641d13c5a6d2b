package move

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/job"
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

// AttemptAs is Attempt by a task that names another tenant.
func (s *Service) AttemptAs(ctx context.Context, id tenant.ID, m Move) error {
	return s.run(ctx, job.Attempt{Task: job.Task{Tenant: id, Name: m.ID}, Number: 1})
}
