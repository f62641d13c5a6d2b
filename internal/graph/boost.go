package graph

import (
	"cmp"
	"slices"
)

// boost multiplies the scores of the sources by the request's boost, and orders them by the result. Ties keep their order.
func (r *run) boost() {
	if r.plan.boost == nil {
		return
	}
	for n := range r.sources {
		r.plan.boost.Apply(&r.sources[n].Source)
	}
	slices.SortStableFunc(r.sources, func(a, b Source) int { return cmp.Compare(b.Score, a.Score) })
}
