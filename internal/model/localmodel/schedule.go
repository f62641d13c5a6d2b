package localmodel

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"github.com/ragdhq/ragd/internal/model/localmodel/transformer"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// class is the urgency of a computation. Lower ones go first, also before the rest of a
// computation of a higher one that has begun.
type class int

const (
	questions class = iota // somebody waits for an answer
	pairs                  // somebody waits for many scores
	passages               // an ingest
	classes
)

// batchTokens is the number of tokens up to which sequences are computed together. Together
// they need the weights once from memory; more than this gains nothing.
const batchTokens = 128

// item is one sequence to compute.
type item struct {
	ctx      context.Context // of the request
	tenant   string
	model    *loaded
	sequence transformer.Sequence
	done     func(states *transformer.States, sequence int, err error) // called once
}

// scheduler computes items with a limited number of threads: by class, then the tenants in
// turns, each of them in order. A batch takes a slot of the processor for the tenant of its first
// item, and lets others compute between the layers of the model.
type scheduler struct {
	threads   int
	processor *limit.Processor

	mu      sync.Mutex
	running int
	waiting [classes]turns
}

// turns are the tenants with waiting items. The first is served next.
type turns struct {
	order   list.List // of *queue
	tenants map[string]*queue
}

type queue struct {
	tenant string
	items  []*item
}

func newScheduler(threads int, processor *limit.Processor) *scheduler {
	s := &scheduler{threads: threads, processor: processor}
	for c := range s.waiting {
		s.waiting[c].tenants = map[string]*queue{}
	}
	return s
}

// submit queues items of a tenant.
func (s *scheduler) submit(tenant string, c class, items []*item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.waiting[c]
	q := t.tenants[tenant]
	if q == nil {
		q = &queue{tenant: tenant}
		t.tenants[tenant] = q
		t.order.PushBack(q)
	}
	q.items = append(q.items, items...)
	for _, it := range items {
		it.tenant = tenant
	}
	for range items {
		if s.running == s.threads {
			return
		}
		s.running++
		go s.work()
	}
}

// work computes batches until none is waiting.
func (s *scheduler) work() {
	for {
		s.mu.Lock()
		batch, c := s.next(classes)
		if batch == nil {
			s.running--
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		// Without an end: items whose requests have ended are dropped soon enough.
		_ = s.processor.Run(context.Background(), batch[0].tenant, func(ctx context.Context) error {
			s.compute(ctx, batch, c)
			return nil
		})
	}
}

// next takes a batch of a class below the given one, nil if there is none.
func (s *scheduler) next(below class) ([]*item, class) {
	for c := range below {
		if batch := s.waiting[c].take(); batch != nil {
			return batch, c
		}
	}
	return nil, 0
}

// take takes items of one model in turns. Items whose request has ended are dropped.
func (t *turns) take() []*item {
	var batch []*item
	tokens := 0
	for misses := 0; misses < t.order.Len(); {
		front := t.order.Front()
		q := front.Value.(*queue)
		misses++
		q.drop()
		if len(q.items) > 0 {
			first := q.items[0]
			if n := len(first.sequence.Tokens); batch == nil || first.model == batch[0].model && tokens+n <= batchTokens {
				batch, tokens = append(batch, first), tokens+n
				q.items[0] = nil
				q.items = q.items[1:]
				misses = 0 // others of its tenant may fit as well
			}
		}
		if len(q.items) > 0 {
			t.order.MoveToBack(front)
			continue
		}
		t.order.Remove(front)
		delete(t.tenants, q.tenant)
		misses = 0
	}
	return batch
}

// drop removes the items at the front whose request has ended.
func (q *queue) drop() {
	for len(q.items) > 0 && q.items[0].ctx.Err() != nil {
		q.items[0].done(nil, 0, q.items[0].ctx.Err())
		q.items[0] = nil
		q.items = q.items[1:]
	}
}

// errAbandoned ends a computation that nobody waits for.
var errAbandoned = errors.New("all requests of the batch have ended")

func (s *scheduler) compute(ctx context.Context, batch []*item, c class) {
	sequences := make([]transformer.Sequence, len(batch))
	for i, it := range batch {
		sequences[i] = it.sequence
	}
	pause := func() error { return s.pause(ctx, batch, c) }
	err := batch[0].model.model.Run(sequences, pause, func(states *transformer.States) {
		for i, it := range batch {
			it.done(states, i, nil)
		}
	})
	if err != nil {
		for _, it := range batch {
			it.done(nil, 0, err)
		}
	}
}

// pause computes what is more urgent than a batch, lets other computations run, and fails if nobody
// waits for the batch.
func (s *scheduler) pause(ctx context.Context, batch []*item, c class) error {
	for {
		s.mu.Lock()
		urgent, of := s.next(c)
		s.mu.Unlock()
		if urgent == nil {
			break
		}
		s.compute(ctx, urgent, of)
	}
	for _, it := range batch {
		if it.ctx.Err() == nil {
			return limit.Yield(ctx)
		}
	}
	return errAbandoned
}
