package query

import (
	"context"
	"strings"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Reranker says how sources are scored a second time. Zero values mean the
// defaults of internal/rerank.
type Reranker struct {
	Kind             rerank.Kind
	Model            string
	Weights          rerank.Weights
	TopK             *int
	Candidates       int // fetched by a query, to choose from
	NormalizeWeights bool
	Required         bool
}

// Reranked is a source in its new place.
type Reranked struct {
	Index   int // in the sources that were given
	Score   float64
	Details rerank.Details
}

// maxRerankTextBytes bounds one text that is judged.
const maxRerankTextBytes = 64 << 10

// Rerank scores sources against a question, best first by the incoming order,
// and returns them in their new order with warnings about what could not be
// scored. Errors: those of rerank.Reranker.Rerank.
func (s *Service) Rerank(ctx context.Context, question string, sources []Source, by Reranker) ([]Reranked, []string, error) {
	r, err := tenant.Require(ctx, tenant.Read)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case strings.TrimSpace(question) == "":
		return nil, nil, fault.Field("queryText", "must not be blank")
	case len(question) > MaxQueryTextBytes:
		return nil, nil, fault.Field("queryText", "is %d bytes, over the limit of %d", len(question), MaxQueryTextBytes)
	case len(sources) > rerank.MaxCandidates:
		return nil, nil, fault.Field("results", "at most %d can be reranked at once, got %d", rerank.MaxCandidates, len(sources))
	}
	for i, source := range sources {
		if len(source.Text) > maxRerankTextBytes {
			return nil, nil, fault.Field("results", "the text of result %d is %d bytes, over the limit of %d", i, len(source.Text), maxRerankTextBytes)
		}
	}
	topK := valueOr(by.TopK, rerank.DefaultTopK)
	return s.rerank(ctx, r.Tenant, question, sources, by, topK, false)
}

// rerank orders sources anew. unbounded says that their scores are not in 0..1.
func (s *Service) rerank(ctx context.Context, id tenant.ID, question string, sources []Source, by Reranker, topK int, unbounded bool) ([]Reranked, []string, error) {
	candidates := make([]rerank.Candidate, len(sources))
	for i, source := range sources {
		candidates[i] = rerank.Candidate{Text: source.Text, Score: source.Score}
	}
	result, err := s.reranker.Rerank(ctx, rerank.Request{
		Tenant: string(id), Query: question, Candidates: candidates, Kind: by.Kind, Model: by.Model,
		Weights: by.Weights, NormalizeWeights: by.NormalizeWeights, NormalizeScores: unbounded,
		TopK: topK, Required: by.Required,
	})
	if err != nil {
		return nil, nil, fault.Under("reranker", err)
	}
	out := make([]Reranked, len(result.Ranked))
	for i, ranked := range result.Ranked {
		out[i] = Reranked{Index: ranked.Index, Score: ranked.Score, Details: ranked.Details}
	}
	return out, result.Warnings, nil
}
