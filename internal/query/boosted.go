package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// boostRounds limits the searches of a query with boosts.
const boostRounds = 8

// boosted searches as search does, and orders by boosted scores, if the request has boosts. A factor is at most 1. So a chunk
// that the search left out, which scores no more than its last source, can only be among the best if its factor is
// large enough to reach the last that is wanted, and so is that of each boost: its time is of some range, or it is
// selected by a condition. Such chunks are searched again, until no chunk that is left out can be among the best.
func (s *Service) boosted(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index, p prepared, watch *Stopwatch) (a answer, err error) {
	if p.like != nil && p.like.Combine == Best {
		return s.searchLike(ctx, id, h, i, p, watch)
	}
	if len(p.boosts) == 0 || p.lists() {
		return s.weighed(ctx, id, h, i, p, watch)
	}
	if p.boosts, err = s.Popular(ctx, id, h, i, p.scope.namespace, p.access, p.boosts); err != nil {
		return a, err
	}
	wanted := p.fetch()
	deep := p
	deep.further += max(0, p.plenty()-wanted)
	seen := map[string]bool{}
	var found []Source
	needed, sure := 0.0, false
	for round := range boostRounds {
		part, err := s.weighed(ctx, id, h, i, deep, watch)
		if err != nil {
			return a, err
		}
		if round == 0 {
			a = part
		} else if len(part.warnings) > len(a.warnings) { // it found no chunk with the phrases of the question
			part.sources = nil
		}
		all, last := len(part.sources) < deep.fetch(), 0.0
		if n := len(part.sources); n > 0 {
			last = part.sources[n-1].Score
		}
		for _, source := range part.sources {
			if !seen[source.ID] {
				seen[source.ID] = true
				p.boosts.Apply(&source)
				found = append(found, source)
			}
		}
		slices.SortFunc(found, func(a, b Source) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
		if all || last <= 0 || len(found) >= wanted && found[wanted-1].Score >= last {
			sure = true
			break
		}
		factor := 0.0
		if len(found) >= wanted {
			factor = found[wanted-1].Score / last
		}
		reaching, err := p.boosts.reaching(factor)
		if err != nil {
			return a, err
		}
		if factor > needed && !reaching.IsZero() {
			needed = factor
			deep.scope.filter = filter.And(p.scope.filter, reaching)
		} else { // many score the same
			deep.further += max(0, min(deep.fetch(), maxCandidates-deep.fetch()))
		}
	}
	watch.Lap("boost", len(found))
	a.sources = found[:min(wanted, len(found))]
	a.explain.Exact = a.explain.Exact && sure
	return a, nil
}
