package connector

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// maxWatchedFolders bounds the folders of a connector whose changes start a run.
	maxWatchedFolders = 1000
	// settleTime is how long a run waits after the first change, for others.
	settleTime = 2 * time.Second
)

// watched is the connector of a tenant whose folders are watched.
type watched struct {
	tenant    tenant.ID
	connector string
}

// watchers are the watched folders of this instance. The zero value is ready to use.
type watchers struct {
	mu      sync.Mutex
	all     map[watched]*fsnotify.Watcher
	running sync.WaitGroup  // of what waits for changes
	ctx     context.Context // ended by close; nil until one is needed
	cancel  context.CancelFunc
}

// untilClosed returns the context that ends with close. The caller holds the lock.
func (w *watchers) untilClosed() context.Context {
	if w.ctx == nil {
		w.ctx, w.cancel = context.WithCancel(context.Background())
	}
	return w.ctx
}

// replace sets the watcher of a connector, and ends the one before. The caller waits for changes within the context, and calls
// end then. nil: all watchers were ended, and by is too.
func (w *watchers) replace(of watched, by *fsnotify.Watcher) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx := w.untilClosed()
	if ctx.Err() != nil {
		_ = by.Close()
		return nil
	}
	w.running.Add(1)
	if old := w.all[of]; old != nil {
		_ = old.Close()
	}
	if w.all == nil {
		w.all = map[watched]*fsnotify.Watcher{}
	}
	w.all[of] = by
	return ctx
}

// end ends a watcher.
func (w *watchers) end(of watched, one *fsnotify.Watcher) {
	defer w.running.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all[of] == one {
		delete(w.all, of)
	}
	_ = one.Close()
}

// close ends all watchers, and what they began.
func (w *watchers) close() {
	w.mu.Lock()
	w.untilClosed()
	w.cancel()
	for _, one := range w.all {
		_ = one.Close()
	}
	w.all = nil
	w.mu.Unlock()
	w.running.Wait()
}

// Close ends all watchers. It returns when none starts a run any more.
func (s *Service) Close() { s.watchers.close() }

// watch returns a function that watches folders of a connector below a path. The first change makes a run due, which
// watches anew. Without notifications of the operating system, the schedule alone starts runs.
func (s *Service) watch(h *data.Handle, connector, base string) func(folder string) {
	one, err := fsnotify.NewWatcher()
	if err != nil {
		s.Logger.Warn("folders cannot be watched", "err", err)
		return nil
	}
	of := watched{h.Tenant(), connector}
	ctx := s.watchers.replace(of, one)
	if ctx == nil {
		return nil
	}
	go func() {
		defer s.watchers.end(of, one)
		select {
		case _, ok := <-one.Events:
			if !ok {
				return
			}
		case _, ok := <-one.Errors: // such as too many changes at once
			if !ok {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.wait(settleTime)):
		}
		err := h.Tx(ctx, func(tx *data.Tx) error {
			r, err := makeDue(ctx, tx, connector)
			if err != nil {
				return err
			}
			return s.wake(ctx, tx, r)
		})
		if err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.NotFound && fault.KindOf(err) != fault.Precondition {
			s.Logger.Warn("a change of a folder started no run", "connector", connector, "tenant", h.Tenant(), "err", err)
		}
	}()
	count := 0
	return func(folder string) {
		if count++; count <= maxWatchedFolders {
			_ = one.Add(filepath.Join(base, folder)) // else the schedule finds what changes in it
		}
	}
}
