package hook

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/automation/webhook"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

const (
	// turn is how long a task posts deliveries of one tenant before others have their turn.
	turn = 20 * time.Second
	// probeAfter is the number of failures after which a hook is tried with single
	// deliveries, at growing intervals.
	probeAfter = 3
	// maxProbePause is the longest of these intervals.
	maxProbePause = 5 * time.Minute
	// firstRetry and maxRetry bound the wait between two attempts to deliver an event.
	firstRetry = 5 * time.Second
	maxRetry   = 12 * time.Hour
)

// retryWait returns how long a delivery waits after so many failed attempts: 5 seconds, four
// times as long after each, at most 12 hours, plus up to half of that at random. Ten attempts
// take about 33 to 50 hours.
func retryWait(attempts int) time.Duration {
	wait := min(firstRetry<<(2*min(max(attempts-1, 0), 10)), maxRetry)
	return wait + rand.N(wait/2)
}

// probePause returns how long a hook is not used after so many failures in a row.
func probePause(failures int) time.Duration {
	if failures < probeAfter {
		return 0
	}
	wait := min(time.Second<<min(failures-probeAfter, 20), maxProbePause)
	return wait + rand.N(wait/2)
}

// Runners returns the runner of deliveries.
func (s *Service) Runners() job.Registry {
	return job.Registry{job.Deliver: {Run: s.deliver, Lane: job.LaneDeliver, Timeout: 2 * turn}}
}

// deliver posts what is due to a hook, for one turn.
func (s *Service) deliver(ctx context.Context, a job.Attempt) error {
	h := s.config.Work.Handle(a.Tenant)
	r, err := data.Get[row](ctx, h, `SELECT `+columns+` FROM ragd_shared.hooks WHERE hook_name = $1`, a.Name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil && r.Enabled && !r.NextAttemptAt.After(time.Now()) {
		err = s.drain(ctx, h, r, time.Now().Add(turn))
	}
	if kind := fault.KindOf(err); err != nil && kind == fault.NotFound {
		return job.Stop(err) // the tenant was deleted
	} else if err != nil {
		return err
	}
	next, err := data.Value[*float64](ctx, h, `
		SELECT extract(epoch FROM min(greatest(d.next_attempt_at, h.next_attempt_at)) - now())::float8
		FROM ragd_shared.hook_deliveries AS d JOIN ragd_shared.hooks AS h ON h.tenant_id = d.tenant_id AND h.hook_name = d.hook_name
		WHERE d.hook_name = $1 AND d.status = 'pending' AND h.enabled`, a.Name)
	if err != nil || next == nil {
		return err
	}
	return job.Snooze(max(time.Duration(*next*float64(time.Second)), 0))
}

// drain posts the due deliveries of a hook until there are none, the hook fails or the turn is
// over.
func (s *Service) drain(ctx context.Context, h *data.Handle, r row, until time.Time) error {
	t, err := s.target(ctx, h.Tenant(), r)
	if err != nil {
		return err
	}
	for time.Now().Before(until) {
		atOnce := maxAtOncePerHook
		if r.Failures >= probeAfter {
			atOnce = 1
		}
		found, err := due(ctx, h, r.HookName, atOnce)
		if err != nil || len(found) == 0 {
			return err
		}
		group, groupCtx := errgroup.WithContext(ctx)
		failed := make([]bool, len(found))
		for i, d := range found {
			group.Go(func() (err error) {
				failed[i], err = s.attempt(groupCtx, h, t, d, r.Failures)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for _, is := range failed {
			if r.Failures++; !is {
				r.Failures = 0
			}
		}
		if r.Failures >= probeAfter {
			return nil // until its pause is over
		}
	}
	return nil
}

// target is a hook with what is needed to post to it.
type target struct {
	hook    Hook
	secrets []webhook.Secret
	values  map[string]string // of the secrets in headers
	err     error             // why nothing can be posted; safe to show to the tenant
}

// target opens the secrets of a hook. What is wrong with them is the outcome of its
// deliveries.
func (s *Service) target(ctx context.Context, id tenant.ID, r row) (t target, err error) {
	t.hook = r.hook()
	if t.secrets, t.err = s.open(id, r); t.err != nil {
		return t, nil
	}
	address, err := checkURL(s.config.Guard, r.URL)
	if err != nil {
		t.err = err
		return t, nil
	}
	t.values, t.err = s.headerSecrets(ctx, id, t.hook, address)
	if kind := fault.KindOf(t.err); kind == fault.Unavailable || kind == fault.Internal {
		return t, t.err
	}
	return t, nil
}

// headerSecrets returns the values of the secrets in the headers of a hook.
func (s *Service) headerSecrets(ctx context.Context, id tenant.ID, h Hook, address *url.URL) (map[string]string, error) {
	names := h.secretNames()
	if len(names) == 0 {
		return nil, nil
	}
	return s.config.Secrets.Values(ctx, id, names, address)
}

// attempt posts one delivery and stores what came of it. It reports whether it failed.
func (s *Service) attempt(ctx context.Context, h *data.Handle, t target, d Delivery, failures int) (failed bool, err error) {
	if err := s.slots.Acquire(ctx, h.Tenant()); err != nil {
		return false, err
	}
	o := s.try(ctx, h.Tenant(), t, d)
	s.slots.Release(h.Tenant(), 1)
	if ctx.Err() != nil {
		return false, ctx.Err() // it counts as no attempt
	}
	wait := max(retryWait(d.Attempts+1), o.retryAfter)
	return !o.ok(), record(ctx, h, d, o, wait, probePause(failures+1))
}

// try posts one delivery.
func (s *Service) try(ctx context.Context, id tenant.ID, t target, d Delivery) outcome {
	failed := func(err error) outcome { return outcome{began: time.Now(), err: fault.Public(err)} }
	if t.err != nil {
		return failed(t.err)
	}
	body, err := encode(id, t.hook, d)
	if err != nil {
		return failed(err)
	}
	header, err := t.hook.render(t.values)
	if err != nil {
		return failed(err)
	}
	return post(ctx, s.client, message{url: t.hook.URL, id: d.DeliveryID, header: header, body: body, secrets: t.secrets, mask: remote.NewMask(t.values)})
}
