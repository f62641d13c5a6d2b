package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/rerank"
)

// Rerank implements QueryService.
func (h *Handlers) Rerank(ctx context.Context, req *ragdv1.RerankRequest) (*ragdv1.RerankResponse, error) {
	sources := make([]query.Source, len(req.GetResults()))
	for i, result := range req.GetResults() {
		sources[i] = query.Source{ID: result.GetId(), Title: result.GetTitle(), Text: textOf(result), Score: result.GetScore()}
	}
	var by query.Reranker
	if given := rerankerOf(req.GetReranker()); given != nil {
		by = *given
	}
	made, err := h.Queries.Rerank(ctx, req.GetQueryText(), sources, by)
	if err != nil {
		return nil, err
	}
	logReranking(ctx, &made.Report)
	res := &ragdv1.RerankResponse{Warnings: made.Warnings, Reranking: rerankingMessage(&made.Report)}
	for _, r := range made.Ranked {
		res.Results = append(res.Results, &ragdv1.RerankedSource{
			Result: req.Results[r.Index], Score: r.Score, Details: rerankDetails(&r.Details),
		})
	}
	return res, nil
}

// textOf returns the text that the reranker scores: the document, or the metadata field
// "text", where clients of other vector stores keep it.
func textOf(s *ragdv1.Source) string {
	if s.GetDocument() != "" {
		return s.GetDocument()
	}
	return s.GetMetadata().GetFields()["text"].GetStringValue()
}

func rerankerOf(r *ragdv1.Reranker) *query.Reranker {
	if r == nil {
		return nil
	}
	out := &query.Reranker{
		Kind: rerank.Kind(r.GetKind()), Model: r.GetModel(), Candidates: int(r.GetCandidates()),
		NormalizeWeights: r.GetNormalizeWeights(), Required: r.GetRequired(),
		RerankerOptions: query.RerankerOptions{Weights: weightsOf(r.GetWeights()), TopK: intOf(r.TopK)},
	}
	if o := r.GetOptions(); o != nil {
		out.Options = &query.RerankerOptions{Weights: weightsOf(o.GetWeights()), TopK: intOf(o.TopK)}
	}
	return out.Flat()
}

func weightsOf(w *ragdv1.RerankerWeights) (weights rerank.Weights) {
	if w != nil {
		weights = rerank.Weights{Semantic: w.Semantic, Vector: w.Vector, Position: w.Position}
	}
	return weights
}

func rerankDetails(d *rerank.Details) *ragdv1.RerankDetails {
	if d == nil {
		return nil
	}
	return &ragdv1.RerankDetails{Semantic: d.Semantic, Vector: d.Vector, Position: d.Position, Estimated: d.Estimated}
}

// logReranking adds the work and cost of a reranking to the request's log line.
func logReranking(ctx context.Context, r *rerank.Report) {
	if r == nil {
		return
	}
	httpserver.Add(ctx, "rerank_kind", r.Kind, "rerank_candidates", r.Candidates, "rerank_failed", r.Failed,
		"rerank_cached", r.Cached, "rerank_calls", r.Usage.Calls, "rerank_ms", r.Took.Milliseconds())
}

func rerankingMessage(r *rerank.Report) *ragdv1.Reranking {
	if r == nil {
		return nil
	}
	return &ragdv1.Reranking{
		Kind: string(r.Kind), Model: r.Model, Candidates: int32(r.Candidates), Failed: int32(r.Failed), Cached: int32(r.Cached),
		Calls: int32(r.Usage.Calls), InputTokens: int32(r.Usage.InputTokens), OutputTokens: int32(r.Usage.OutputTokens),
		DurationMs: milliseconds(r.Took),
	}
}
