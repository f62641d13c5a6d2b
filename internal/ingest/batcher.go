package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Limits on the size and the duration of one transaction.
const (
	writeDocuments = 256
	writeBytes     = 4 << 20
	writeTimeout   = time.Minute
)

// batcher writes single uploads that arrive at the same time in one transaction: while one
// batch is written, the next one fills. An upload that arrives alone does not wait.
type batcher struct {
	store func(context.Context, tenant.ID, index.Index, []newDocument, filter.Filter) ([]storedUpload, error)

	mu      sync.Mutex
	waiting map[batchKey][]*waitingUpload // has an entry while a goroutine writes for the key
}

type batchKey struct {
	tenant  tenant.ID
	indexID int64
}

// waitingUpload is an upload that waits to be written.
type waitingUpload struct {
	newDocument
	done chan storedUpload // has a buffer of one: sending does not block
}

// add writes a document, together with others that arrive meanwhile, and returns the stored
// document and its job. When ctx ends first, the document may or may not be written.
func (b *batcher) add(ctx context.Context, id tenant.ID, d newDocument) (Document, job.Job, error) {
	key := batchKey{id, d.into.ID}
	one := &waitingUpload{newDocument: d, done: make(chan storedUpload, 1)}
	b.mu.Lock()
	others, writing := b.waiting[key]
	b.waiting[key] = append(others, one)
	b.mu.Unlock()
	if !writing {
		go b.write(context.WithoutCancel(ctx), key)
	}
	select {
	case stored := <-one.done:
		return stored.document, stored.job, stored.err
	case <-ctx.Done():
		return Document{}, job.Job{}, ctx.Err()
	}
}

// write writes the uploads of a key until none waits.
func (b *batcher) write(ctx context.Context, key batchKey) {
	for {
		b.mu.Lock()
		group, rest := nextGroup(b.waiting[key])
		if len(group) == 0 {
			delete(b.waiting, key)
			b.mu.Unlock()
			return
		}
		b.waiting[key] = rest
		b.mu.Unlock()
		b.writeTogether(ctx, key.tenant, group)
	}
}

// nextGroup splits the waiting uploads into those to write together and the rest. The
// uploads of a group have different names and fit the limits of one transaction.
func nextGroup(waiting []*waitingUpload) (group, rest []*waitingUpload) {
	names := map[name]bool{}
	var bytes int64
	for i, one := range waiting {
		if bytes += one.ByteSize; len(group) > 0 && bytes > writeBytes || len(group) == writeDocuments {
			return group, append(rest, waiting[i:]...)
		}
		if names[one.name()] {
			rest = append(rest, one)
			continue
		}
		names[one.name()] = true
		group = append(group, one)
	}
	return group, rest
}

// writeTogether writes uploads in one transaction. After a permanent error, which a single
// upload may have caused, it writes each upload alone.
func (b *batcher) writeTogether(ctx context.Context, id tenant.ID, group []*waitingUpload) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	docs := make([]newDocument, len(group))
	for i, one := range group {
		docs[i] = one.newDocument
	}
	stored, err := b.store(ctx, id, group[0].into, docs, filter.Filter{})
	if err != nil && len(group) > 1 && !transient(err) {
		for _, one := range group {
			b.writeTogether(ctx, id, []*waitingUpload{one})
		}
		return
	}
	for i, one := range group {
		if err != nil {
			one.done <- storedUpload{err: err}
		} else {
			one.done <- stored[i]
		}
	}
}
