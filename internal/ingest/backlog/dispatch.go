package backlog

import (
	"context"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// pollInterval is how often the backlog is read for documents that other instances
	// added or that are due again. Wake makes this instance read it at once.
	pollInterval = 250 * time.Millisecond
	// idlePollInterval is the same after idleAfter without documents.
	idlePollInterval = time.Second
	idleAfter        = 5 * time.Second
	// errorPause is the pause after an error while reading the backlog.
	errorPause = time.Second
	// maxLeasedBytes is how much content may be in work for another batch to be claimed.
	// Memory must hold this much plus one large document.
	maxLeasedBytes = 16 << 20
	// drainTimeout is how long claimed documents may be processed after Run was told to
	// stop.
	drainTimeout = 10 * time.Second
)

// leases tracks the batches that this instance's workers have claimed. Tenants take
// turns, and none has more than half of the workers: a tenant that uploads a million
// documents delays the others by one batch at most.
type leases struct {
	workers int

	mu    sync.Mutex
	last  tenant.ID         // of the last batch
	busy  map[tenant.ID]int // batches in work
	jobs  map[string]bool   // of the claimed documents, by id
	bytes int64
}

// free reports whether another batch may be claimed.
func (l *leases) free() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	batches := 0
	for _, n := range l.busy {
		batches += n
	}
	return batches < l.workers && l.bytes < maxLeasedBytes
}

// tenants returns the tenants that have workers, and those of them that have as many as
// one tenant may have.
func (l *leases) tenants() (busy, full []string) {
	busy, full = []string{}, []string{}
	for id, n := range l.busy {
		busy = append(busy, string(id))
		if n >= max(1, l.workers/2) {
			full = append(full, string(id))
		}
	}
	return busy, full
}

func (l *leases) add(batch []Claim) {
	l.last = batch[0].Tenant
	l.busy[l.last]++
	for _, c := range batch {
		l.jobs[c.JobID] = true
		l.bytes += c.Bytes
	}
}

func (l *leases) release(batch []Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := batch[0].Tenant
	if l.busy[id]--; l.busy[id] == 0 {
		delete(l.busy, id)
	}
	for _, c := range batch {
		delete(l.jobs, c.JobID)
		l.bytes -= c.Bytes
	}
}

// Wake makes this instance read the backlog of the database in which a tenant lives now.
func (b *Backlog) Wake(id tenant.ID) {
	if other := b.elsewhere(id); other != nil {
		b = other
	}
	b.wake()
}

// wake makes this instance read this backlog now.
func (b *Backlog) wake() {
	select {
	case b.woken <- struct{}{}:
	default: // it is already woken
	}
}

// dispatch gives claimed batches to workers until ctx ends, and returns when they are
// done, after drainTimeout at the latest.
func (b *Backlog) dispatch(ctx context.Context, process Processor) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(drainTimeout, cancel) })
	defer stop()
	var workers sync.WaitGroup
	defer workers.Wait()
	active := time.Now() // the last time that there were documents
	for ctx.Err() == nil {
		var batch []Claim
		var err error
		if b.leases.free() && b.pause() == nil {
			batch, err = b.next(ctx)
		}
		switch {
		case err != nil && ctx.Err() == nil:
			b.log.WarnContext(ctx, "claiming documents failed", "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(errorPause):
			}
		case len(batch) > 0:
			active = time.Now()
			workers.Go(func() {
				defer b.wake()
				defer b.leases.release(batch)
				process(work, batch)
			})
		default:
			interval := pollInterval
			if time.Since(active) > idleAfter {
				interval = idlePollInterval
			}
			select {
			case <-ctx.Done():
			case <-b.woken:
				active = time.Now()
			case <-time.After(interval):
			}
		}
	}
}

// next claims a batch of the tenant whose turn it is and adds it to the leases, under a lock
// that keeps takeOver from seeing the claim without its lease.
func (b *Backlog) next(ctx context.Context) ([]Claim, error) {
	b.leases.mu.Lock()
	defer b.leases.mu.Unlock()
	busy, full := b.leases.tenants()
	batch, err := b.claim(ctx, b.leases.last, full, busy)
	if err == nil && len(batch) == 0 && b.leases.last != "" { // start again with the first tenant
		batch, err = b.claim(ctx, "", full, busy)
	}
	switch {
	case len(batch) > 0:
		b.leases.add(batch)
	case err == nil:
		b.leases.last = "" // nothing is due: the next turn may begin with any tenant
	}
	return batch, err
}
