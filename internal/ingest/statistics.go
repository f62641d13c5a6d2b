package ingest

import (
	"context"
	"sync"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// PostgreSQL's statistics of the documents and jobs of a tenant are renewed after so many uploads, and each time after
// statisticsGrowth times as many, up to statisticsLast: autovacuum knows them by then.
const (
	statisticsFirst  = 128
	statisticsGrowth = 8
	statisticsLast   = statisticsFirst * statisticsGrowth * statisticsGrowth
	// statisticsTenants is how many tenants are remembered.
	statisticsTenants = 10_000
)

// statistics sees to it that PostgreSQL knows how many documents a new tenant has, and that nearly all are of the same index
// and namespace. Until it does, the planner takes the indexes of the table for equally good, looks each name up among all
// documents of its namespace, and keeps that plan: a first upload of n documents costs n². Autovacuum looks once a
// minute, which is too late.
type statistics struct {
	mu     sync.Mutex
	stored map[tenant.ID]int // uploads of this process
}

// count counts uploads, and returns whether the statistics are due and how many uploads there were.
func (s *statistics) count(id tenant.ID, uploads int) (total int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored == nil || len(s.stored) >= statisticsTenants {
		s.stored = map[tenant.ID]int{}
	}
	before := s.stored[id]
	total = min(before+uploads, statisticsLast)
	s.stored[id] = total
	for at := statisticsFirst; at <= statisticsLast; at *= statisticsGrowth {
		due = due || before < at && total >= at
	}
	return total, due
}

// renewStatistics renews the statistics of a tenant if uploads made them obsolete. An error changes no result: it is left to
// autovacuum.
func (s *Service) renewStatistics(ctx context.Context, h *data.Handle, id tenant.ID, uploads int) {
	total, due := s.statistics.count(id, uploads)
	if !due {
		return
	}
	obsolete, err := data.Value[bool](ctx, h, `
		SELECT c.reltuples < $1::int / 2 FROM pg_catalog.pg_class AS c WHERE c.oid = 'tenant.documents'::regclass`, total)
	if err == nil && obsolete {
		_, _ = h.Exec(ctx, `ANALYZE (SKIP_LOCKED) tenant.documents, tenant.jobs`)
	}
}
