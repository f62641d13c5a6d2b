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
	mu  sync.Mutex
	all map[watched]*fsnotify.Watcher
}

// replace sets the watcher of a connector, and ends the one before.
func (w *watchers) replace(of watched, by *fsnotify.Watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old := w.all[of]; old != nil {
		_ = old.Close()
	}
	if w.all == nil {
		w.all = map[watched]*fsnotify.Watcher{}
	}
	w.all[of] = by
}

// end ends a watcher.
func (w *watchers) end(of watched, one *fsnotify.Watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all[of] == one {
		delete(w.all, of)
	}
	_ = one.Close()
}

// Close ends all watchers.
func (s *Service) Close() {
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	for _, one := range s.watchers.all {
		_ = one.Close()
	}
	s.watchers.all = nil
}

// watch returns a function that watches folders of a connector below a path. The first change makes a run due, which
// watches anew. Without notifications of the operating system, the schedule alone starts runs.
func (s *Service) watch(h *data.Handle, connector, base string) func(folder string) {
	one, err := fsnotify.NewWatcher()
	if err != nil {
		s.Logger.Warn("folders cannot be watched", "err", err)
		return nil
	}
	of := watched{h.Tenant(), connector}
	s.watchers.replace(of, one)
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
		time.Sleep(settleTime)
		err := h.Tx(context.Background(), func(tx *data.Tx) error {
			r, err := makeDue(context.Background(), tx, connector)
			if err != nil {
				return err
			}
			return s.wake(context.Background(), tx, r)
		})
		if err != nil && fault.KindOf(err) != fault.NotFound && fault.KindOf(err) != fault.Precondition {
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
