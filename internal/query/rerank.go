package query

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Reranker configures how sources are scored a second time. Zero values mean the
// defaults of internal/rerank.
type Reranker struct {
	RerankerOptions

	Kind             rerank.Kind `json:"kind"`
	Model            string      `json:"model"`
	Candidates       int         `json:"candidates"` // sources that a query fetches to rerank; 0: five times topK
	NormalizeWeights bool        `json:"normalizeWeights"`
	Required         bool        `json:"required"`
	best             int         // see rerank.Request

	// Options are used where the reranker has none of its own.
	Options *RerankerOptions `json:"options"`
}

// RerankerOptions are the options of a reranker that some clients send by themselves.
type RerankerOptions struct {
	Weights rerank.Weights `json:"weights"`
	TopK    *int           `json:"topK"`
}

// Flat returns the reranker with Options in their place.
func (r *Reranker) Flat() *Reranker {
	if r == nil || r.Options == nil {
		return r
	}
	flat := *r
	flat.Options = nil
	flat.TopK = cmp.Or(r.TopK, r.Options.TopK)
	if r.Weights == (rerank.Weights{}) {
		flat.Weights = r.Options.Weights
	}
	return &flat
}

// OverrideReranker returns the reranker of the request context if that has one,
// else the body's. Errors: Invalid.
func OverrideReranker(body *Reranker, override json.RawMessage) (*Reranker, error) {
	if override == nil {
		return body, nil
	}
	var r *Reranker
	decoder := json.NewDecoder(bytes.NewReader(override))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return nil, fault.Field("reranker", "must be an object with some of kind, model, weights{semantic, vector, position}, topK, candidates, normalizeWeights, required and options{weights, topK}")
	}
	return r.Flat(), nil
}

// Depth returns how many sources a reranked query for topK returns, and how many
// candidates it fetches to rerank. Errors: Invalid.
func (r Reranker) Depth(topK int) (results, candidates int, err error) {
	results = valueOr(r.TopK, topK)
	switch {
	case results < 1 || results > MaxTopK:
		err = fault.Field("reranker.topK", "must be between 1 and %d, got %d", MaxTopK, results)
	case r.Candidates < 0 || r.Candidates > rerank.MaxCandidates:
		err = fault.Field("reranker.candidates", "must be between 0 and %d, got %d", rerank.MaxCandidates, r.Candidates)
	}
	return results, rerank.Fetch(results, cmp.Or(r.Candidates, rerank.Fetch(topK, 0))), err
}

// CheckReranker validates the kind, model and weights of a tenant's reranker before a
// search runs. nil is valid. Errors: Invalid, Precondition for a provider that is not
// configured.
func (s *Service) CheckReranker(ctx context.Context, id tenant.ID, by *Reranker) error {
	if by == nil {
		return nil
	}
	return fault.Under("reranker", s.reranker.Check(ctx, rerank.Request{
		Tenant: string(id), Kind: by.Kind, Model: by.Model, Weights: by.Weights, NormalizeWeights: by.NormalizeWeights,
	}))
}

// Reranked is a source with its new score.
type Reranked struct {
	Index   int // in the sources before reranking
	Score   float64
	Details rerank.Details
}

// Reranking is the result of a second scoring, best first, and its report.
type Reranking struct {
	Ranked []Reranked
	rerank.Report
}

// maxRerankTextBytes bounds the text of one source.
const maxRerankTextBytes = 64 << 10

// Rerank scores sources, given best first, against a question and returns them in
// their new order, with warnings about sources that could not be scored. Errors:
// Invalid, and those of rerank.Reranker.Rerank.
func (s *Service) Rerank(ctx context.Context, question string, sources []Source, by Reranker) (Reranking, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Reranking{}, err
	}
	chosen, err := OverrideReranker(&by, r.Overrides.Reranker)
	if err != nil {
		return Reranking{}, err
	}
	by = valueOr(chosen, Reranker{})
	switch {
	case strings.TrimSpace(question) == "":
		return Reranking{}, fault.Field("queryText", "must not be blank")
	case len(question) > MaxQueryTextBytes:
		return Reranking{}, fault.Field("queryText", "is %d bytes, over the limit of %d", len(question), MaxQueryTextBytes)
	case len(sources) > rerank.MaxCandidates:
		return Reranking{}, fault.Field("results", "at most %d can be reranked at once, got %d", rerank.MaxCandidates, len(sources))
	}
	for i, source := range sources {
		if len(source.Text) > maxRerankTextBytes {
			return Reranking{}, fault.Field("results", "the text of result %d is %d bytes, over the limit of %d", i, len(source.Text), maxRerankTextBytes)
		}
	}
	return s.rerank(ctx, r.Tenant, question, sources, by, valueOr(by.TopK, rerank.DefaultTopK), false)
}

// rerank scores sources against a question. unbounded: their scores are not in
// [0,1].
func (s *Service) rerank(ctx context.Context, id tenant.ID, question string, sources []Source, by Reranker, topK int, unbounded bool) (Reranking, error) {
	candidates := make([]rerank.Candidate, len(sources))
	for i, source := range sources {
		candidates[i] = rerank.Candidate{Title: source.Title, Text: textlimit.Cut(source.Text, maxRerankTextBytes), Score: source.Score}
	}
	result, err := s.reranker.Rerank(ctx, rerank.Request{
		Tenant: string(id), Query: question, Candidates: candidates, Kind: by.Kind, Model: by.Model,
		Weights: by.Weights, NormalizeWeights: by.NormalizeWeights, NormalizeScores: unbounded,
		TopK: topK, Best: by.best, Required: by.Required,
	})
	if err != nil {
		return Reranking{}, fault.Under("reranker", err)
	}
	out := Reranking{Ranked: make([]Reranked, len(result.Ranked)), Report: result.Report}
	for i, ranked := range result.Ranked {
		out.Ranked[i] = Reranked{Index: ranked.Index, Score: ranked.Score, Details: ranked.Details}
	}
	return out, nil
}

// RerankFound returns the topK best sources that a search found, with their new
// scores and the details of these. unbounded: the scores of the search are not in
// [0,1]. Errors: those of rerank.Reranker.Rerank.
func (s *Service) RerankFound(ctx context.Context, id tenant.ID, question string, found []Source, by Reranker, topK int, unbounded bool) ([]Source, rerank.Report, error) {
	made, err := s.rerank(ctx, id, question, found, by, topK, unbounded)
	if err != nil {
		return nil, made.Report, err
	}
	sources := make([]Source, len(made.Ranked))
	for i, ranked := range made.Ranked {
		sources[i] = found[ranked.Index]
		sources[i].Score = ranked.Score
		if made.Reranked {
			sources[i].Details = &made.Ranked[i].Details
		}
	}
	return sources, made.Report, nil
}

// prepareReranker sets how many sources to fetch and return. Errors: Invalid.
func (p *prepared) prepareReranker(by Reranker) error {
	if strings.TrimSpace(p.text) == "" {
		return fault.Field("queryText", "is needed to rerank and must not be blank")
	}
	results, candidates, err := by.Depth(p.topK)
	p.topK, p.reranker, p.rerankFrom = results, &by, candidates
	return err
}

// rerankAnswer reranks the sources of an answer. unbounded: their scores are not in [0,1].
func (s *Service) rerankAnswer(ctx context.Context, id tenant.ID, p prepared, unbounded bool, a *answer) error {
	by := *p.reranker
	by.best = p.topK + p.further
	sources, report, err := s.RerankFound(ctx, id, p.text, a.sources, by, len(a.sources), unbounded)
	if err != nil {
		return err
	}
	a.sources, a.reranking = sources, &report
	a.warnings = append(a.warnings, report.Warnings...)
	return nil
}

// unbounded reports whether the scores of the search do not span [0,1]: inner
// products, and fused ranks, which are all near 0.
func (p prepared) unbounded(i index.Index) bool {
	if p.mode == Hybrid {
		return p.fusion.Method == RRF
	}
	return p.mode == Vector && i.Metric == index.DotProduct
}
