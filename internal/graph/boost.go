package graph

import (
	"cmp"
	"slices"
)

// boost multiplies the scores of the sources by the request's boosts, and orders them by the result. Ties keep their order.
func (r *run) boost() {
	if len(r.plan.boosts) == 0 {
		return
	}
	for n := range r.sources {
		r.plan.boosts.Apply(&r.sources[n].Source)
	}
	slices.SortStableFunc(r.sources, func(a, b Source) int { return cmp.Compare(b.Score, a.Score) })
}
