package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// pollInterval is how often the backlog is looked at for what others have put
	// there, and for what is due again. Uploads to this instance wake it at once.
	pollInterval = 250 * time.Millisecond
	// dispatchPause follows a failure to look.
	dispatchPause = time.Second
	// maxBytesAtHand is how much content may be at hand for more to be claimed. One
	// large document more than that is what memory has to hold.
	maxBytesAtHand = 16 << 20
)

// hands are what this instance's workers hold. The turn goes round the tenants with
// something to do, and none of them gets more than half of the workers: one that
// uploads a million documents takes no more of the others' time than one batch.
type hands struct {
	workers int

	mu    sync.Mutex
	last  tenant.ID // whose turn it was
	busy  map[tenant.ID]int
	held  map[string]bool // ids of jobs
	bytes int64
}

// free reports whether another batch may be claimed.
func (h *hands) free() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	batches := 0
	for _, n := range h.busy {
		batches += n
	}
	return batches < h.workers && h.bytes < maxBytesAtHand
}

// tenants returns those that have workers, and of them those that have as many as one
// tenant may have.
func (h *hands) tenants() (busy, full []string) {
	busy, full = []string{}, []string{}
	for id, n := range h.busy {
		busy = append(busy, string(id))
		if n >= max(1, h.workers/2) {
			full = append(full, string(id))
		}
	}
	return busy, full
}

func (h *hands) take(batch []claim) {
	h.last = batch[0].Tenant
	h.busy[h.last]++
	for _, c := range batch {
		h.held[c.JobID] = true
		h.bytes += c.Bytes
	}
}

func (h *hands) giveBack(batch []claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := batch[0].Tenant
	if h.busy[id]--; h.busy[id] == 0 {
		delete(h.busy, id)
	}
	for _, c := range batch {
		delete(h.held, c.JobID)
		h.bytes -= c.Bytes
	}
}

// wake has the backlog looked at.
func (q *Queue) wake() {
	select {
	case q.woken <- struct{}{}:
	default: // it is going to be
	}
}

// dispatch gives workers what is in the backlog until ctx ends, and returns when
// they are done. work is the context of the workers.
func (q *Queue) dispatch(ctx, work context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		var batch []claim
		var err error
		if q.hands.free() {
			batch, err = q.next(ctx)
		}
		switch {
		case err != nil && ctx.Err() == nil:
			q.log.WarnContext(ctx, "looking for documents to process", "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(dispatchPause):
			}
		case len(batch) > 0:
			workers.Go(func() {
				defer q.wake()
				defer q.hands.giveBack(batch)
				q.worker.work(work, q, batch)
			})
		default:
			select {
			case <-ctx.Done():
			case <-q.woken:
			case <-ticker.C:
			}
		}
	}
}

// next claims a batch of the tenant whose turn it is. What is claimed is at hand
// before anyone can take it for lost.
func (q *Queue) next(ctx context.Context) ([]claim, error) {
	q.hands.mu.Lock()
	defer q.hands.mu.Unlock()
	busy, full := q.hands.tenants()
	batch, err := q.claim(ctx, q.hands.last, full, busy)
	if err == nil && len(batch) == 0 && q.hands.last != "" { // once around
		batch, err = q.claim(ctx, "", full, busy)
	}
	if len(batch) > 0 {
		q.hands.take(batch)
	}
	return batch, err
}
