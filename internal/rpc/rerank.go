package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/rerank"
)

// Rerank implements QueryService.
func (h *Handlers) Rerank(ctx context.Context, req *ragdv1.RerankRequest) (*ragdv1.RerankResponse, error) {
	sources := make([]query.Source, len(req.GetResults()))
	for i, result := range req.GetResults() {
		sources[i] = query.Source{ID: result.GetId(), Text: textOf(result), Score: result.GetScore()}
	}
	ranked, warnings, err := h.Queries.Rerank(ctx, req.GetQueryText(), sources, rerankerOf(req.GetReranker()))
	if err != nil {
		return nil, err
	}
	res := &ragdv1.RerankResponse{Warnings: warnings}
	for _, r := range ranked {
		res.Results = append(res.Results, &ragdv1.RerankedSource{
			Result: req.Results[r.Index], Score: r.Score, Details: rerankDetails(r.Details),
		})
	}
	return res, nil
}

// textOf returns what is judged of a result: its document, else what clients of
// other stores keep in its metadata.
func textOf(s *ragdv1.Source) string {
	if s.GetDocument() != "" {
		return s.GetDocument()
	}
	return s.GetMetadata().GetFields()["text"].GetStringValue()
}

func rerankerOf(r *ragdv1.Reranker) query.Reranker {
	out := query.Reranker{
		Kind: rerank.Kind(r.GetKind()), Model: r.GetModel(), Candidates: int(r.GetCandidates()),
		NormalizeWeights: r.GetNormalizeWeights(), Required: r.GetRequired(),
	}
	if w := r.GetWeights(); w != nil {
		out.Weights = rerank.Weights{Semantic: w.Semantic, Vector: w.Vector, Position: w.Position}
	}
	if r != nil && r.TopK != nil {
		topK := int(r.GetTopK())
		out.TopK = &topK
	}
	return out
}

func rerankDetails(d rerank.Details) *ragdv1.RerankDetails {
	return &ragdv1.RerankDetails{Semantic: d.Semantic, Vector: d.Vector, Position: d.Position, Estimated: d.Estimated}
}
