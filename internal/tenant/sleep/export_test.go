package sleep

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
)

// WithStep returns the configuration with a function that is called before each step.
func (c Config) WithStep(step func(name string)) Config {
	c.step = step
	return c
}

// WithHold returns the configuration with the time for which calls wait.
func (c Config) WithHold(hold time.Duration) Config {
	c.hold = hold
	return c
}

// WakeNow wakes a tenant in this goroutine.
func (s *Service) WakeNow(ctx context.Context, id tenant.ID) error { return s.wake(ctx, id) }

// SleepNow puts a tenant to sleep without a check of the caller.
func (s *Service) SleepNow(ctx context.Context, id tenant.ID) error { return s.sleep(ctx, id) }

// Sweep does once what Run does at intervals.
func (s *Service) Sweep(ctx context.Context) error { return s.sweep(ctx) }

// SleepUnused puts the tenants to sleep that are unused at a time.
func (s *Service) SleepUnused(ctx context.Context, now time.Time) error {
	return s.sleepUnused(ctx, now)
}
