package sleep

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

const (
	// MaxAtOnce is how many tenants an instance wakes at once. Each takes two connections.
	MaxAtOnce = 2
	// MaxWaiting is how many tenants an instance wakes or has waiting for that.
	MaxWaiting = 1000
	// retryPause is how long a tenant is left whose waking has failed.
	retryPause = 10 * time.Second
	// maxFailed is how many tenants are left at once whose waking has failed.
	maxFailed = 10_000
	// maxWakeTime ends an attempt to wake a tenant.
	maxWakeTime = 6 * time.Hour
)

// Retry delays of callers of a tenant that is waking.
const (
	shortDelay = 500 * time.Millisecond
	longDelay  = 2 * time.Second
	// longFrames is from how many frames of its archive on a tenant wakes in more than a moment.
	longFrames = 150
	// hold is how long a call waits that finds its tenant asleep: small tenants are awake by then.
	hold = time.Second
)

// waking is a tenant that this instance wakes.
type waking struct {
	done chan struct{} // closed at the end
	err  error         // after done
}

// failure is a waking that has failed.
type failure struct {
	err   error
	until time.Time // when it is tried again
}

// Wake wakes a tenant, and returns when it is awake. A tenant that is awake stays as it is. Errors: Denied unless the caller is
// the operator; NotFound; Precondition for an archive that is missing, was altered, or whose key no master key opens; Exhausted
// while MaxWaiting tenants wait, and without space on the disk.
func (s *Service) Wake(ctx context.Context, name string) (provision.Tenant, error) {
	found, err := s.config.Tenants.Get(ctx, name)
	if err != nil || found.State == provision.Active {
		return found, err
	}
	w, err := s.start(found.TenantID, true)
	if err != nil {
		return provision.Tenant{}, err
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		return provision.Tenant{}, ctx.Err()
	}
	if w.err != nil {
		return provision.Tenant{}, w.err
	}
	return s.config.Tenants.Get(ctx, name)
}

// Asleep is called for a request of a tenant that is not active, whose credential is valid. It begins to wake the tenant if it
// should, and waits up to hold for that. It returns nil if the tenant is active by then, else the error for the caller. Errors:
// Unavailable, with the time to wait and how much is done.
func (s *Service) Asleep(ctx context.Context, id tenant.ID, wake bool) error {
	now, err := progressOf(ctx, s.config.Control, id)
	if err != nil {
		return err
	}
	if now.Status == tenant.StatusReady {
		return nil
	}
	if wake {
		w, err := s.start(id, false)
		if err != nil {
			return err
		}
		held, cancel := context.WithTimeout(ctx, s.config.hold)
		defer cancel()
		select {
		case <-w.done:
			if w.err == nil {
				return nil
			}
		case <-held.Done():
		}
		if now, err = progressOf(ctx, s.config.Control, id); err != nil || now.Status == tenant.StatusReady {
			return err
		}
	}
	delay := shortDelay
	if now.Frames > longFrames {
		delay = longDelay
	}
	waking := fault.New(fault.Unavailable, "tenant %q was asleep and is waking, %d%% is done: try again", id, now.percent())
	waking.RetryAfter = delay
	return waking
}

// start begins to wake a tenant, unless this instance does so already. Without again, a waking that has failed a moment ago is not
// tried again. Errors: Unavailable for that; Exhausted.
func (s *Service) start(id tenant.ID, again bool) (*waking, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.wakes[id]; w != nil {
		return w, nil
	}
	if f, ok := s.failed[id]; ok && !again {
		if wait := time.Until(f.until); wait > 0 {
			failed := fault.Wrap(fault.Unavailable, f.err, "tenant %q is asleep and cannot be woken now: the operator of the service sees why in its log, and with `ragd tenant wake %[1]s`", id)
			failed.RetryAfter = wait
			return nil, failed
		}
	}
	if s.base.Err() != nil {
		return nil, fault.New(fault.Unavailable, "the service is stopping: try again")
	}
	if len(s.wakes) >= MaxWaiting {
		return nil, fault.Retry(longDelay, "this instance wakes %d tenants already: try again", MaxWaiting)
	}
	delete(s.failed, id)
	w := &waking{done: make(chan struct{})}
	s.wakes[id] = w
	s.group.Go(func() { s.run(id, w) })
	return w, nil
}

// run wakes a tenant when there is a slot.
func (s *Service) run(id tenant.ID, w *waking) {
	defer close(w.done)
	ctx, cancel := context.WithTimeout(s.base, maxWakeTime)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		w.err = s.wake(ctx, id)
		<-s.slots
	case <-ctx.Done():
		w.err = ctx.Err()
	}
	if w.err != nil && ctx.Err() == nil && fault.KindOf(w.err) != fault.Conflict {
		s.config.Logger.ErrorContext(ctx, "a tenant cannot be woken", "tenant", id, "err", w.err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.wakes, id)
	if w.err == nil || ctx.Err() != nil || fault.KindOf(w.err) == fault.Conflict { // another instance wakes it
		return
	}
	if len(s.failed) >= maxFailed {
		clear(s.failed)
	}
	s.failed[id] = failure{w.err, time.Now().Add(retryPause)}
}

// wake loads the data of a tenant from its archive. Errors: Conflict while another call changes the tenant.
func (s *Service) wake(ctx context.Context, id tenant.ID) error {
	if err := s.usable(); err != nil {
		return err
	}
	start := time.Now()
	return s.config.Tenants.Unshared(ctx, id, func(conn *pgxpool.Conn) error {
		row, err := tenant.FindKept(ctx, conn, string(id))
		if err != nil || !row.Asleep() { // another call has woken it
			return err
		}
		r, err := current(ctx, conn, id)
		if err != nil {
			return err
		}
		if row.Status == tenant.StatusWaking || r.Phase == dropping { // of an interrupted call
			if err := move.Remove(ctx, s.first, conn, id); err != nil {
				return err
			}
			if err := dropped(ctx, conn, r); err != nil {
				return err
			}
		}
		lost, err := s.load(ctx, conn, r)
		if err != nil {
			return errors.Join(err, s.sleepOn(ctx, conn, id))
		}
		s.config.step("awake")
		s.config.Woke(id)
		s.config.Logger.InfoContext(ctx, "tenant woken", "tenant", id, "duration_ms", time.Since(start).Milliseconds())
		if len(lost) > 0 {
			s.config.Logger.WarnContext(ctx, "secrets of a tenant that was woken are lost: no master key opens them", "tenant", id, "secrets", lost)
		}
		return nil
	})
}

// load loads the data of a tenant into an empty schema. Errors: Precondition for an archive that cannot be read.
func (s *Service) load(ctx context.Context, conn *pgxpool.Conn, r record) (lost []string, err error) {
	dataKey, err := s.config.Keys.Open(r.SealedKey, r.belongsTo()...)
	if err != nil {
		return nil, fault.Wrap(fault.Precondition, err, "no master key opens the key of the archive %s: add the master key with which the tenant was put to sleep", r.name())
	}
	s.config.step("begin")
	err = s.open(ctx, r, dataKey, func(archived io.Reader) error {
		lost, err = s.config.Archives.Wake(ctx, r.TenantID, archived, func(begun provision.Import) error {
			return s.config.Tenants.BeginWaking(ctx, conn, begun)
		})
		return err
	})
	return lost, err
}

// sleepOn removes what a waking that failed has loaded. One that was interrupted by the end of the service is left to the next
// call.
func (s *Service) sleepOn(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
	if ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	row, err := tenant.Find(ctx, conn, id)
	if err != nil || row.Status != tenant.StatusWaking {
		return err
	}
	if err := move.Remove(ctx, s.first, conn, id); err != nil {
		return err
	}
	return sleepOn(ctx, conn, id)
}
