package graph

import (
	"context"

	"github.com/ragdhq/ragd/internal/query"
)

// distinct makes the sources by gather, which is given how many there may be, and makes one of those that
// are near-identical. If that leaves fewer than are wanted it gathers more.
func (r *run) distinct(ctx context.Context, gather func(most int) error) error {
	for most := r.plan.fetch; ; most = min(2*most, query.MaxTopK) {
		r.sources = r.sources[:0]
		if err := gather(most); err != nil {
			return err
		}
		gathered := len(r.sources)
		if err := r.fold(ctx); err != nil {
			return err
		}
		if len(r.sources) >= r.plan.fetch || gathered < most || most >= query.MaxTopK {
			r.sources = r.sources[:min(r.plan.fetch, len(r.sources))]
			return nil
		}
	}
}

// fold makes one source of those that are near-identical, unless the request wants each.
func (r *run) fold(ctx context.Context) error {
	if each := r.plan.request.Distinct; each != nil && !*each {
		return nil
	}
	found := foundOf(r.sources)
	kept, err := r.service.queries.Distinct(ctx, r.plan.tenant, found)
	if err != nil {
		return err
	}
	r.explain.Repeated = len(found) - len(kept)
	if len(kept) == len(found) {
		return nil
	}
	all := r.sources
	r.sources = make([]Source, len(kept))
	for n, repeats := range kept {
		r.sources[n] = all[repeats.Source]
		r.sources[n].Source = repeats.AlsoIn(found)
	}
	r.watch.Lap("distinct", len(r.sources))
	return nil
}
