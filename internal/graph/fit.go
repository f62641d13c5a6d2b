package graph

import (
	"context"

	"github.com/ragdhq/ragd/internal/query"
)

// fit fits the sources into the request's budget.
func (r *run) fit(ctx context.Context) (err error) {
	all := r.sources
	render := func(kept []query.Source, numbers []int) string {
		r.sources = make([]Source, len(kept))
		for i, source := range kept {
			r.sources[i] = all[numbers[i]]
			r.sources[i].Source = source
		}
		return relevantContext(r.sources)
	}
	before := func(n int) string { return beforeText(all, n) }
	r.fitted, err = r.service.queries.Fit(ctx, r.plan.tenant, r.plan.budget, foundOf(all), before, render)
	if err != nil {
		return err
	}
	r.explainSources()
	r.watch.Lap("budget", len(r.sources))
	return nil
}

// explainSources removes from the explanation what is no source any more.
func (r *run) explainSources() {
	kept := map[ChunkRef]bool{}
	of := map[string]int{}
	for _, source := range r.sources {
		kept[chunkOf(source.Source)] = true
		for _, hit := range source.Hits {
			kept[ChunkRef{source.DocumentID, hit.Ordinal}] = true
		}
		of[source.Topic]++
	}
	for i := range r.explain.Nodes {
		node := &r.explain.Nodes[i]
		node.Source = node.Source && kept[node.ChunkRef]
	}
	topics := r.explain.Topics[:0]
	for _, topic := range r.explain.Topics {
		if topic.Sources = of[topic.Title]; topic.Sources > 0 {
			topics = append(topics, topic)
		}
	}
	r.explain.Topics = topics
}
