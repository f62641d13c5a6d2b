package index

import (
	"context"
	"log/slog"
	"time"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

const (
	// upkeepPause is how long after a look at an index in use this instance looks again.
	upkeepPause = 10 * time.Minute
	// waitingUpkeep is how many indexes wait to be looked at. Others are when they are next used.
	waitingUpkeep = 64
	// upkeepTimeout limits the time of one look.
	upkeepTimeout = 10 * time.Second
)

// upkeep takes indexes that are in use and may have been made by an earlier version of ragd.
type upkeep struct {
	waiting chan indexOf
	seen    *cache.Cache[paceKey, struct{}]
}

type indexOf struct {
	tenant tenant.ID
	index  Index
}

func newUpkeep() *upkeep {
	return &upkeep{
		waiting: make(chan indexOf, waitingUpkeep),
		seen:    cache.New(cache.Config[paceKey, struct{}]{Entries: cacheSize, TTL: upkeepPause}),
	}
}

// offerUpkeep offers an index in use to Upkeep. It never blocks.
func (s *Service) offerUpkeep(id tenant.ID, i Index) {
	key := paceKey{id, i.ID}
	if _, seen := s.upkeep.seen.Get(key); seen {
		return
	}
	select {
	case s.upkeep.waiting <- indexOf{id, i}:
		s.upkeep.seen.Put(key, struct{}{})
	default:
	}
}

// Upkeep queues the maintenance of indexes in use that earlier versions of ragd made, until ctx ends.
func (s *Service) Upkeep(ctx context.Context, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case of := <-s.upkeep.waiting:
			if err := s.lookAfter(ctx, of); err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.NotFound {
				log.WarnContext(ctx, "index not looked after", "tenant", of.tenant, "index", of.index.ID, "err", err)
			}
		}
	}
}

func (s *Service) lookAfter(ctx context.Context, of indexOf) error {
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	h := s.db.Handle(of.tenant)
	tables := h.OfIndex(of.index.ID, of.index.Generation)
	// Who counts the index deletes old ones itself, but may have stopped.
	if _, err := h.Exec(ctx, `DELETE FROM ragd_shared.chunk_changes WHERE index_id = $1 AND created_at < now() - interval '1 hour'`, of.index.ID); err != nil {
		return err
	}
	words, err := hasWords(ctx, tables)
	if err != nil {
		return err
	}
	if words && !of.index.outdated() {
		existing, err := metadataIndexesOf(ctx, tables)
		if err != nil || of.index.matches(existing) {
			return err
		}
	}
	return h.Tx(ctx, func(tx *data.Tx) error { return s.queue.Enqueue(ctx, tx, job.Maintain, of.index.ID, "") })
}
