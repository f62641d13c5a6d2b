package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/job"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Bounds of what is written in one transaction, and how long that may take.
const (
	gatherDocuments = 256
	gatherBytes     = 4 << 20
	gatherTimeout   = time.Minute
)

// gatherer writes uploads that come at the same time in one transaction: while one
// is written, others gather for the next. An upload that comes alone waits for
// nobody.
type gatherer struct {
	store func(context.Context, tenant.ID, index.Index, []newDocument, filter.Filter) ([]storedUpload, error)

	mu      sync.Mutex
	waiting map[gatherKey][]*gathered // there is an entry while somebody writes
}

type gatherKey struct {
	tenant  tenant.ID
	indexID int64
}

// gathered is an upload that waits to be written.
type gathered struct {
	newDocument
	done chan storedUpload // takes one without blocking
}

// add writes a document with those that come meanwhile and returns what became of
// it. When ctx ends before, it may or may not be written.
func (g *gatherer) add(ctx context.Context, id tenant.ID, d newDocument) (Document, job.Job, error) {
	key := gatherKey{id, d.into.ID}
	one := &gathered{newDocument: d, done: make(chan storedUpload, 1)}
	g.mu.Lock()
	others, writing := g.waiting[key]
	g.waiting[key] = append(others, one)
	g.mu.Unlock()
	if !writing {
		go g.write(context.WithoutCancel(ctx), key)
	}
	select {
	case stored := <-one.done:
		return stored.document, stored.job, stored.err
	case <-ctx.Done():
		return Document{}, job.Job{}, ctx.Err()
	}
}

// write writes what has gathered until nothing has.
func (g *gatherer) write(ctx context.Context, key gatherKey) {
	for {
		g.mu.Lock()
		group, rest := fitting(g.waiting[key])
		if len(group) == 0 {
			delete(g.waiting, key)
			g.mu.Unlock()
			return
		}
		g.waiting[key] = rest
		g.mu.Unlock()
		g.writeGroup(ctx, key.tenant, group)
	}
}

// fitting returns those that can be written together, and the others: one document
// of a name, and not too much.
func fitting(waiting []*gathered) (group, rest []*gathered) {
	names := map[name]bool{}
	var bytes int64
	for i, one := range waiting {
		if bytes += one.ByteSize; len(group) > 0 && bytes > gatherBytes || len(group) == gatherDocuments {
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

// writeGroup writes uploads together, or, where that fails for a reason that one of
// them may be, each alone.
func (g *gatherer) writeGroup(ctx context.Context, id tenant.ID, group []*gathered) {
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	docs := make([]newDocument, len(group))
	for i, one := range group {
		docs[i] = one.newDocument
	}
	stored, err := g.store(ctx, id, group[0].into, docs, filter.Filter{})
	if err != nil && len(group) > 1 && !transient(err) {
		for _, one := range group {
			g.writeGroup(ctx, id, []*gathered{one})
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
