package workflow

import (
	"context"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// watchEvery is the interval between looks whether runs were cancelled.
const watchEvery = time.Second

// watcher ends the contexts of runs that are no longer running. It reads the states of all runs of
// a tenant at once. Safe for concurrent use.
type watcher struct {
	mu   sync.Mutex
	runs map[tenant.ID]map[string]watchedRun // by the id of the run
}

type watchedRun struct {
	handle *data.Handle
	cancel context.CancelCauseFunc
}

// watch returns a context that ends with job.ErrEnded when the run is no longer running, and a
// function that must be called at the end.
func (w *watcher) watch(ctx context.Context, h *data.Handle, id string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[tenant.ID]map[string]watchedRun{}
	}
	of := w.runs[h.Tenant()]
	if of == nil {
		of = map[string]watchedRun{}
		w.runs[h.Tenant()] = of
		go w.look(h.Tenant())
	}
	of[id] = watchedRun{h, cancel}
	return ctx, func() {
		cancel(nil)
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.runs[h.Tenant()], id)
	}
}

// look looks at the runs of a tenant until there are none.
func (w *watcher) look(id tenant.ID) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for range ticker.C {
		w.mu.Lock()
		var of *data.Handle
		ids := make([]string, 0, len(w.runs[id]))
		for run, watched := range w.runs[id] {
			ids, of = append(ids, run), watched.handle
		}
		if of == nil {
			delete(w.runs, id)
		}
		w.mu.Unlock()
		if of == nil {
			return
		}
		w.end(of, ids)
	}
}

// end cancels those of the runs that have ended or are gone.
func (w *watcher) end(of *data.Handle, ids []string) {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	running, err := openRuns(ctx, of, ids)
	if err != nil {
		return // the next look may have more success
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if run, ok := w.runs[of.Tenant()][id]; ok && !running[id] {
			run.cancel(job.ErrEnded)
		}
	}
}
