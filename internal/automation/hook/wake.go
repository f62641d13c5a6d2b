package hook

import (
	"context"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// wakePause is how long announcements of deliveries are collected.
const wakePause = 100 * time.Millisecond

// waker notes the tenants that have new deliveries.
type waker struct {
	mu      sync.Mutex
	tenants map[tenant.ID]bool
	any     chan struct{}
}

func newWaker() *waker { return &waker{tenants: map[tenant.ID]bool{}, any: make(chan struct{}, 1)} }

// receive notes the tenant of new deliveries, or of which they may have been missed: if those of any tenant
// may have been, a sweep of the journal finds them. It does not block.
func (w *waker) receive(e event.Event) {
	if e.Kind == event.Journal && e.Name == "deliver" || e.Missed() && e.Tenant != "" {
		w.add(e.Tenant)
	}
}

func (w *waker) add(id tenant.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tenants[id] = true
	select {
	case w.any <- struct{}{}:
	default:
	}
}

// take returns the tenants that were noted since the last call.
func (w *waker) take() map[tenant.ID]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.tenants
	w.tenants = map[tenant.ID]bool{}
	return taken
}

// Run starts the tasks of hooks with new deliveries until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.waker.any:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wakePause):
		}
		for id := range s.waker.take() {
			if err := s.Wake(ctx, id); err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.NotFound {
				s.config.Logger.WarnContext(ctx, "starting deliveries to hooks failed", "tenant", id, "err", err) // the next sweep does it
			}
		}
	}
}

// Wake starts the tasks of the hooks of a tenant that have deliveries that are due.
func (s *Service) Wake(ctx context.Context, id tenant.ID) error {
	h := s.config.Work.Handle(id)
	due, err := data.Values[string](ctx, h, `
		SELECT h.hook_name FROM ragd_shared.hooks AS h WHERE h.enabled AND h.next_attempt_at <= now() AND EXISTS (
			SELECT FROM ragd_shared.hook_deliveries AS d
			WHERE d.tenant_id = h.tenant_id AND d.hook_name = h.hook_name AND d.status = 'pending' AND d.next_attempt_at <= now())`)
	if err != nil {
		return err
	}
	for _, name := range due {
		// One transaction for each: the queue ends tasks in an order of its own, and would wait for those of
		// earlier hooks while this waits for it.
		if err := h.Tx(ctx, func(tx *data.Tx) error { return s.wake(ctx, tx, name) }); err != nil {
			return err
		}
	}
	return nil
}

// wake starts the task of a hook.
func (s *Service) wake(ctx context.Context, tx *data.Tx, name string) error {
	return s.config.Queue.Wake(ctx, tx, job.Deliver, name)
}
