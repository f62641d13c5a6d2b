package graph

import (
	"context"

	"github.com/ragdhq/ragd/internal/graph/walk"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query"
)

// candidates walks the candidate graph of the chunks nearest to the question.
func (r *run) candidates(ctx context.Context) error {
	p := r.plan
	question, err := r.question(ctx)
	if err != nil {
		return err
	}
	r.plan.request.QueryVector = question
	if err := r.search(ctx, query.Vector, p.request.Options.Candidates, true); err != nil {
		return err
	}
	r.watch.Lap("search", len(r.found.Sources))
	var ranked []walk.Scored
	err = r.compute(ctx, len(r.found.Sources) > fewCandidates, func(ctx context.Context) error {
		ranked, err = r.rankCandidates(ctx, question)
		return err
	})
	if err != nil {
		return err
	}
	r.watch.Lap("walk", len(ranked))
	err = r.distinct(ctx, func(most int) error {
		for _, s := range ranked {
			source := r.found.Sources[s.Node]
			source.Score = s.Score
			if !p.withVectors {
				source.Vector = nil
			}
			r.sources = append(r.sources, Source{Source: source})
		}
		r.boost()
		r.sources = r.sources[:min(most, len(r.sources))]
		return nil
	})
	if err != nil {
		return err
	}
	return r.rerank(ctx)
}

// rankCandidates returns what the search found in the order of the walk.
func (r *run) rankCandidates(ctx context.Context, question []float32) ([]walk.Scored, error) {
	embeddings := make([][]float64, len(r.found.Sources))
	for i, source := range r.found.Sources {
		embeddings[i] = float64s(source.Vector)
	}
	similar, err := walk.NewCandidates(ctx, embeddings, r.plan.threshold)
	if err != nil {
		return nil, err
	}
	return similar.Rank(ctx, float64s(question), r.plan.seeds, r.plan.walk)
}

// fewCandidates and fewEdges are the sizes of graphs up to which the walk is computed
// without a slot of the processor: about a millisecond of work.
const (
	fewCandidates = 50
	fewEdges      = 2_000
)

// compute runs a computation, in a slot of the processor if it is long.
func (r *run) compute(ctx context.Context, long bool, work func(context.Context) error) error {
	return r.service.processor.RunLong(ctx, string(r.plan.tenant), long, work)
}

// question returns the question's embedding.
func (r *run) question(ctx context.Context) ([]float32, error) {
	p := r.plan
	if len(p.request.QueryVector) > 0 {
		return p.request.QueryVector, nil
	}
	if p.index.EmbeddingModel == "" {
		return nil, fault.Field("queryVector", "is needed: index %q has no embedding model that could embed queryText, and takes ready-made vectors only", p.index.Name)
	}
	return r.service.queries.EmbedQuestion(ctx, p.tenant, p.index, p.request.QueryText)
}

func float64s(vector []float32) []float64 {
	out := make([]float64, len(vector))
	for i, value := range vector {
		out[i] = float64(value)
	}
	return out
}
