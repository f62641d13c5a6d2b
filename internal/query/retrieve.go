package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Found is the result of Candidates.
type Found struct {
	Sources  []Source // best first, ties by id
	Warnings []string
	Mode     Mode // of the search
	Scorer   Scorer
	Best     *float64 // the best calibrated score; nil without one
}

// TopScore returns the best score of what was found, calibrated or not; 0 if nothing was.
func (f Found) TopScore() float64 {
	if f.Best != nil {
		return *f.Best
	}
	if len(f.Sources) == 0 {
		return 0
	}
	return f.Sources[0].Score
}

// Candidates searches one index for an effective question, without its reranker.
// tables is the handle of the index's tables. Errors: as for Query.
func (s *Service) Candidates(ctx context.Context, id tenant.ID, i index.Index, tables *data.Handle, q Question) (Found, error) {
	q.Reranker, q.Explain, q.Distinct, q.Expand = nil, false, new(false), ""
	q.Boost, q.Boosts = nil, nil // they are for the scores of the walk
	p, err := Request{Question: q}.prepare()
	if err != nil {
		return Found{}, err
	}
	a, err := s.retrieve(ctx, id, i, tables, p, StartStopwatch(ctx, "query"))
	if !p.access.IsZero() {
		// The rarity of terms, which counts hidden chunks, must not show in a walk.
		for n := range a.sources {
			a.sources[n].KeywordScore = nil
		}
	}
	return Found{a.sources, append(p.warnings, a.warnings...), a.explain.Mode, a.scorer, a.best}, err
}

// retrieve searches an index, whose tables are given, and arranges what it found. It searches once more if that are too few groups.
func (s *Service) retrieve(ctx context.Context, id tenant.ID, i index.Index, h *data.Handle, p prepared, watch *Stopwatch) (a answer, err error) {
	if p.like != nil {
		if p.examples, err = s.load(ctx, id, h, i, p); err != nil {
			return a, err
		}
		p.vector = p.examples.average(i.Metric)
		if p.like.Combine == Best {
			p.vector = p.examples.positive[0]
		}
		watch.Lap("examples", len(p.examples.positive)+len(p.examples.negative))
	}
	a, err = s.retrieveFrom(ctx, id, i, h, p, watch)
	if err != nil || !p.tooFewGroups(a) {
		return a, err
	}
	deeper := *p.group
	deeper.deep = true
	p.group = &deeper
	return s.retrieveFrom(ctx, id, i, h, p, watch)
}

// retrieveFrom searches an index and arranges what it found.
func (s *Service) retrieveFrom(ctx context.Context, id tenant.ID, i index.Index, h *data.Handle, p prepared, watch *Stopwatch) (a answer, err error) {
	if err := p.settle(i); err != nil {
		return a, err
	}
	p.curated = curatedBy(i, p)
	if len(p.conditions) > 0 {
		var left []string
		if p.conditions, left, err = compile(ctx, h, i, p.conditions); err != nil {
			return a, err
		}
		defer func() {
			a.warnings = append(left, a.warnings...)
			for _, c := range p.conditions {
				a.explain.Conditions = append(a.explain.Conditions, c.String())
			}
		}()
	}
	if p.recallTarget != nil {
		i = i.WithRecallTarget(*p.recallTarget)
	}
	if p.compares() && len(p.vector) == 0 && !p.plain {
		if p.vector, err = s.EmbedQuestion(ctx, id, i, p.text); err != nil {
			return a, err
		}
		watch.Lap("embed", 0)
	}
	if p.mode != Keyword && !p.lists() {
		s.indexes.OfferQuestion(id, i, p.vector)
	}
	if a, err = s.distinct(ctx, id, h, i, p, watch); err != nil {
		return a, err
	}
	if p.recallTarget != nil && a.explain.Plan == string(indexScan) && !i.RecallHolds() {
		a.warnings = append(a.warnings, unprovenWarning(i))
	}
	if len(a.sources) == 0 && !p.asked.IsZero() && !p.plain {
		warning, err := fieldWarning(ctx, h, p)
		if err != nil {
			return a, err
		}
		if warning != "" {
			a.warnings = append(a.warnings, warning)
		}
	}
	if !p.lists() && p.mode != Keyword && p.page == nil { // which sources are lowered below others differs from page to page
		a.sources = contentsLast(a.sources)
	}
	a.best = a.bestScore()
	a.sources = Similar(p.minSimilarity, above(p.minScore, a.sources))
	if p.lists() {
		return a, nil
	}
	if p.reranker != nil {
		if err := s.rerankAnswer(ctx, id, p, p.unbounded(i), &a); err != nil {
			return a, err
		}
		watch.Lap("rerank", len(a.sources))
	}
	if a.sources, err = s.arrange(ctx, id, p, a.sources); err != nil {
		return a, err
	}
	if p.group != nil {
		a.found = len(a.sources) + a.explain.Repeated
		var keys []string
		a.sources, a.groups, keys = p.group.grouped(a.sources, p.topK)
		if !p.tooFewGroups(a) {
			if err := p.group.countGroups(ctx, h, i, p, &a, keys); err != nil {
				return a, err
			}
		}
		watch.Lap("groups", len(a.sources))
	}
	if len(p.curated.held) > 0 {
		if err := p.curated.pin(ctx, h, i, p, &a); err != nil {
			return a, err
		}
		watch.Lap("curations", len(a.sources))
	}
	if p.ordersBest() {
		a.sources = ordered(a.sources, p.order)
	}
	if stage := p.expansion.Stage(); stage != "" {
		a.sources, err = p.expansion.expand(ctx, h, i, p.scope, a.sources)
		watch.Lap(stage, len(a.sources))
	}
	return a, err
}

// bestScore returns the best score of the sources if scores are calibrated, else nil.
func (a answer) bestScore() *float64 {
	if a.explain.Calibration == "" || len(a.sources) == 0 {
		return nil
	}
	best := slices.MaxFunc(a.sources, func(x, y Source) int { return cmp.Compare(x.Score, y.Score) }).Score
	return &best
}

// EmbedQuestion returns the embedding of a question by the index's model. Errors:
// Unavailable when the model does not answer.
func (s *Service) EmbedQuestion(ctx context.Context, id tenant.ID, i index.Index, text string) ([]float32, error) {
	model, err := i.Model(ctx, s.models, id)
	if err != nil {
		return nil, err
	}
	return s.models.EmbedQuery(ctx, string(id), model, text)
}
