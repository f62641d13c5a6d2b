package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/query"
)

// Suggest implements QueryService.
func (h *Handlers) Suggest(ctx context.Context, req *ragdv1.SuggestRequest) (*ragdv1.SuggestResponse, error) {
	found, err := h.Queries.Suggest(ctx, query.SuggestRequest{Prefix: req.GetPrefix(), IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), Limit: intOf(req.Limit)})
	if err != nil {
		return nil, err
	}
	res := &ragdv1.SuggestResponse{}
	for _, s := range found {
		res.Suggestions = append(res.Suggestions, &ragdv1.Suggestion{Text: s.Text, Kind: string(s.Kind), DocumentId: s.DocumentID, Uri: s.URI})
	}
	return res, nil
}
