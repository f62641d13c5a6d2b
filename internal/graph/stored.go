package graph

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/graph/names"
	"github.com/ragdhq/ragd/internal/graph/walk"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// stored walks the stored graph.
func (r *run) stored(ctx context.Context) error {
	p, h := r.plan, r.plan.tables
	var named []seed
	var counts Counts
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return r.search(groupCtx, p.request.Mode, max(p.fetch, towardsCount), p.withVectors)
	})
	group.Go(func() (err error) {
		if counts, err = countsOf(groupCtx, h, p.index.ID); err != nil {
			return fmt.Errorf("read the version of the graph: %w", err)
		}
		named, err = namedSeeds(groupCtx, counts.reader(h), p)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if p.request.MinScore != nil && len(r.found.Sources) == 0 {
		r.watch.Lap("seeds", 0)
		return nil
	}
	seeds := slices.Concat(named, foundSeeds(r.found.Sources, named), p.request.crossing.seeds)
	r.watch.Lap("seeds", len(seeds))
	p.tables = counts.reader(h)
	around, err := r.service.load(ctx, p, counts.Version, seeds, r.found.Sources)
	if err != nil {
		return err
	}
	if around.warning != "" {
		r.warnings = append(r.warnings, around.warning)
	}
	r.watch.Lap("load", len(around.chunks))
	var scores []float64
	err = r.compute(ctx, len(around.edges) > fewEdges, func(ctx context.Context) error {
		around.buildAdjacency()
		scores, err = around.walk(ctx, seeds, p.walk)
		return err
	})
	if err != nil {
		return err
	}
	r.watch.Lap("walk", len(around.chunks))
	return r.assemble(ctx, h, around, seeds, scores)
}

// namedSeeds returns the chunks that the question names, as seeds.
func namedSeeds(ctx context.Context, h *data.Handle, p walkPlan) ([]seed, error) {
	namespace, question := namespaceOf(p.request.Namespace), p.request.QueryText
	rows, err := namedBy(ctx, h, distinct(namespace.Keys(names.Keys(names.Phrases(question)))), p.request.Filter)
	if err != nil {
		return nil, fmt.Errorf("find what the question names: %w", err)
	}
	byKey := map[names.Key][]namedRow{}
	for _, row := range rows {
		byKey[row.Key] = append(byKey[row.Key], row)
	}
	var seeds []seed
	for _, key := range names.InQuestion(question, func(key names.Key) bool { return len(byKey[namespace.Key(key)]) > 0 }) {
		for _, row := range byKey[namespace.Key(key)] {
			seeds = append(seeds, seed{ChunkRef{row.DocumentID, row.Ordinal}, namedSeedWeight(row.Kind, row.Chunks), "named by the question"})
		}
	}
	return seeds, nil
}

// foundSeeds returns the best chunks of the search as seeds. In a document of which the
// question names another chunk they weigh more: it is the document that is named.
func foundSeeds(sources []query.Source, named []seed) []seed {
	documents, chunks := map[string]float64{}, map[ChunkRef]bool{}
	for _, s := range named {
		documents[s.DocumentID] += s.weight
		chunks[s.ChunkRef] = true
	}
	var seeds []seed
	for rank, source := range sources[:min(seedCount, len(sources))] {
		if source.DocumentID == "" { // a ready-made vector is in no graph
			continue
		}
		chunk, weight := chunkOf(source), foundSeedWeight(rank)
		if !chunks[chunk] {
			weight *= 1 + namedSpread*documents[source.DocumentID]
		}
		seeds = append(seeds, seed{chunk, weight, fmt.Sprintf("found at rank %d", rank+1)})
	}
	return seeds
}

func chunkOf(source query.Source) ChunkRef { return ChunkRef{source.DocumentID, source.Ordinal} }

// assemble makes the sources: the chunks that the walk reached, best first, then
// others that the search found.
func (r *run) assemble(ctx context.Context, h *data.Handle, around *neighborhood, seeds []seed, scores []float64) error {
	ranked := walk.Rank(scores)
	for len(ranked) > 0 && ranked[len(ranked)-1].Score == 0 { // not reached
		ranked = ranked[:len(ranked)-1]
	}
	if err := r.distinct(ctx, func(most int) error { return r.gather(ctx, h, around, scores, ranked, most) }); err != nil {
		return err
	}
	if err := r.rerank(ctx); err != nil {
		return err
	}
	var err error
	if r.plan.request.Explain {
		err = r.explainWalk(ctx, h, around, seeds, ranked)
	}
	r.watch.Lap("assemble", len(r.sources))
	return err
}

// gather makes the sources, at most most, of the chunks in the order of the walk and of the search.
func (r *run) gather(ctx context.Context, h *data.Handle, around *neighborhood, scores []float64, ranked []walk.Scored, most int) error {
	found := map[ChunkRef]query.Source{}
	for _, source := range r.found.Sources {
		found[chunkOf(source)] = source
	}
	reached := most
	if r.plan.request.MinSimilarity != nil || len(r.plan.boosts) > 0 { // not each is similar enough, or stays among the best
		reached = max(reached, query.MaxTopK)
	}
	var chunks, missing []ChunkRef
	for _, s := range ranked[:min(reached, len(ranked))] {
		chunk := around.chunks[s.Node]
		chunks = append(chunks, chunk)
		if _, ok := found[chunk]; !ok {
			missing = append(missing, chunk)
		}
	}
	more, err := sourcesOf(ctx, h, r.plan.index, missing, r.plan.request.Filter, r.plan.withVectors)
	if err != nil {
		return fmt.Errorf("read the sources: %w", err)
	}
	if err := r.score(ctx, h, more); err != nil {
		return fmt.Errorf("score the sources: %w", err)
	}
	for i, chunk := range chunks {
		source, ok := found[chunk]
		if !ok {
			source, ok = more[chunk]
		}
		if ok { // not deleted since the walk
			source.Score = ranked[i].Score
			r.sources = append(r.sources, Source{Source: source})
		}
	}
	r.keepSimilar()
	r.fill(around, scores, most)
	r.boost()
	r.sources = r.sources[:min(most, len(r.sources))]
	return nil
}

// score sets the scores of chunks that only the walk found.
func (r *run) score(ctx context.Context, h *data.Handle, found map[ChunkRef]query.Source) error {
	chunks := slices.Collect(maps.Keys(found))
	sources := make([]query.Source, len(chunks))
	for n, chunk := range chunks {
		sources[n] = found[chunk]
	}
	err := r.found.Scorer.Score(ctx, h, sources)
	for n, chunk := range chunks {
		found[chunk] = sources[n]
	}
	return err
}

// keepSimilar removes sources that are not similar enough.
func (r *run) keepSimilar() {
	least := r.plan.request.MinSimilarity
	if least == nil {
		return
	}
	r.sources = slices.DeleteFunc(r.sources, func(s Source) bool { return s.Similarity == nil || *s.Similarity <= *least })
}

// fill appends what the search found and the walk did not reach, with score 0.
func (r *run) fill(around *neighborhood, scores []float64, most int) {
	for _, source := range r.found.Sources {
		if len(r.sources) >= most {
			return
		}
		if node, ok := around.node[chunkOf(source)]; ok && scores[node] > 0 {
			continue // among the sources already
		}
		source.Score = 0
		r.sources = append(r.sources, Source{Source: source})
	}
}
