package query

import (
	"context"
	"math"
	"strconv"

	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// answer is what a search found and how.
type answer struct {
	sources  []Source
	warnings []string
	explain  Explain
}

// Found is what a search found: sources best first, ties by id.
type Found struct {
	Sources  []Source
	Warnings []string
	Mode     Mode // by which they were found
}

// Candidates searches an index for a question that Effective returned, by its mode
// alone: without reranking. tables is the handle of the index's tables. Errors: as
// for Query.
func (s *Service) Candidates(ctx context.Context, id tenant.ID, i index.Index, tables *tenant.Handle, q Question) (Found, error) {
	q.Reranker = nil
	p, err := Request{Question: q}.plan()
	if err != nil {
		return Found{}, err
	}
	a, err := s.retrieve(ctx, id, i, tables, p, StartStopwatch(ctx, "query"))
	return Found{a.sources, append(p.warnings, a.warnings...), a.explain.Mode}, err
}

// retrieve searches an index, whose tables are given, and arranges what it found.
func (s *Service) retrieve(ctx context.Context, id tenant.ID, i index.Index, h *tenant.Handle, p plan, watch *Stopwatch) (a answer, err error) {
	if err := p.settle(i); err != nil {
		return a, err
	}
	if p.plain && len(p.vector) == 0 {
		a, err = selected(ctx, h, i, p)
		watch.Lap("search", len(a.sources))
		return a, err
	}
	if p.mode != Keyword && len(p.vector) == 0 {
		if p.vector, err = s.EmbedQuestion(ctx, id, i, p.text); err != nil {
			return a, err
		}
		watch.Lap("embed", 0)
	}
	if a, err = s.searchFor(ctx, id, h, i, p, watch); err != nil {
		return a, err
	}
	a.sources = above(p.minScore, a.sources)
	if p.rerank != nil {
		if err := s.rerankAnswer(ctx, id, i, p, &a); err != nil {
			return a, err
		}
		watch.Lap("rerank", len(a.sources))
	}
	a.sources = arrange(p, a.sources)
	if p.neighbours > 0 {
		a.sources, err = withNeighbours(ctx, h, i, p, a.sources)
		watch.Lap("neighbours", len(a.sources))
	}
	return a, err
}

// EmbedQuestion returns the embedding of a question by the index's model. Errors:
// Unavailable when that does not answer.
func (s *Service) EmbedQuestion(ctx context.Context, id tenant.ID, i index.Index, text string) ([]float32, error) {
	model, err := i.Model(s.models)
	if err != nil {
		return nil, err
	}
	return s.models.EmbedQuery(ctx, string(id), model, text)
}

// searchFor looks for the plan's sources by the question's words, its embedding
// or both.
func (s *Service) searchFor(ctx context.Context, id tenant.ID, h *tenant.Handle, i index.Index, p plan, watch *Stopwatch) (a answer, err error) {
	find := search{index: i, plan: p, approach: exact}
	var asked question
	var warnings []string // of what was asked less for
	if p.mode != Vector {
		if asked, err = lookUp(ctx, h, i, p.text); err != nil {
			return a, err
		}
		watch.Lap("words", 0)
	}
	if p.mode != Keyword && i.Built && len(asked.phrases) == 0 {
		if find.estimate, err = s.estimates.of(ctx, id, h, i, p.scope); err != nil {
			return a, err
		}
		find.choose()
		watch.Lap("plan", 0)
	}
	if p.mode == Keyword && len(asked.words) == 0 {
		a.warnings = append(a.warnings, "no chunk has a word of the question; words too common to be searched for are left out")
		a.explain = Explain{Mode: p.mode, Complete: true, Exact: true}
		return a, nil
	}
	for {
		if a, err = find.thorough(ctx, h, asked, watch); err != nil {
			return a, err
		}
		a.warnings = warnings
		if len(a.sources) > 0 || len(asked.phrases) == 0 || asked.anyPhrase {
			return a, nil
		}
		var warning string
		if asked, warning, err = asked.loosened(ctx, h, i, p.scope); err != nil {
			return a, err
		}
		warnings = append(warnings, warning)
		watch.Lap("phrases", len(asked.phrases))
	}
}

// thorough searches where the sources most likely are, and wherever they can be
// if that brings too few.
func (s search) thorough(ctx context.Context, h *tenant.Handle, asked question, watch *Stopwatch) (a answer, err error) {
	s.keywords = asked.keywords(keywordCandidates)
	if a.sources, err = s.run(ctx, h); err != nil {
		return a, err
	}
	watch.Lap("search", len(a.sources))
	if len(a.sources) < s.plan.fetch() && !s.sure() {
		s.approach, s.keywords = exact, asked.keywords(math.MaxInt64)
		if a.sources, err = s.run(ctx, h); err != nil {
			return a, err
		}
		watch.Lap("search all", len(a.sources))
	}
	if s.crowded(a.sources) {
		s.approach, s.keywords, s.spread = exact, asked.keywords(math.MaxInt64), true
		if a.sources, err = s.run(ctx, h); err != nil {
			return a, err
		}
		watch.Lap("search documents", len(a.sources))
	}
	a.explain = s.explain(a.sources)
	return a, nil
}

// crowded reports whether so many of the sources are of the same few documents that
// those of others may be wanted, which a search for the best chunks did not reach.
func (s search) crowded(sources []Source) bool {
	p := s.plan
	if p.maxPerDocument == 0 || len(sources) < p.fetch() || len(above(p.minScore, sources)) < len(sources) {
		return false
	}
	return len(perDocument(sources, p.maxPerDocument)) < p.topK
}

// sure reports whether the search sees all chunks of the scope that it is for.
func (s search) sure() bool {
	return s.approach == exact && (s.keywords == nil || s.keywords.leftOut == 0)
}

// explain says how the sources were found. Words that were left out could not
// have changed the answer if the last source scores more than they can add up to.
func (s search) explain(sources []Source) Explain {
	e := Explain{Mode: s.plan.mode, Complete: true, Exact: s.sure()}
	if s.plan.mode != Keyword {
		e.Plan = string(s.approach)
		e.Candidates = int(s.estimate.matching)
		if s.approach == approximate {
			e.Candidates = s.plan.width(s.index, s.estimate)
		}
	}
	// How many chunks have the words is not counted by scope.
	if s.keywords != nil && !s.plan.scope.filtered() {
		e.Candidates += int(s.keywords.matching)
	}
	if s.plan.bounded { // statistics are of the whole index: how much is hidden must not be learnt from them
		e.Candidates = 0
	}
	if n := len(sources); s.plan.mode == Keyword && n == s.plan.fetch() && n > 0 {
		e.Exact = sources[n-1].Score >= s.keywords.leftOut
	}
	return e
}

// selected returns what the scope selects, in the order of ids.
func selected(ctx context.Context, h *tenant.Handle, i index.Index, p plan) (a answer, err error) {
	find := search{index: i, plan: p, approach: exact}
	a.sources, err = find.runSQL(ctx, h, func(args *filter.Args) string {
		return find.fromSQL(`found AS (
				SELECT c.ctid AS tid, 0::float8 AS rank_value FROM tenant.chunk AS c WHERE ` + p.scope.sql(i, args) + `
				ORDER BY c.chunk_id LIMIT ` + strconv.Itoa(p.topK) + `
			)`)
	})
	a.sources = above(p.minScore, a.sources)
	a.explain = Explain{Mode: Vector, Plan: string(exact), Complete: true, Exact: true}
	return a, err
}

// above leaves out what does not score more than least.
func above(least *float64, sources []Source) []Source {
	if least == nil {
		return sources
	}
	for n, source := range sources {
		if source.Score <= *least {
			return sources[:n]
		}
	}
	return sources
}
