package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index/wording"
)

// PutSynonyms implements IndexService.
func (h *Handlers) PutSynonyms(ctx context.Context, req *ragdv1.PutSynonymsRequest) (*ragdv1.PutSynonymsResponse, error) {
	entries := make([]wording.Synonym, len(req.GetSynonyms()))
	for n, s := range req.GetSynonyms() {
		entries[n] = wording.Synonym{ID: s.GetSynonymId(), Terms: s.GetTerms(), Targets: s.GetTargets(), Language: s.GetLanguage()}
	}
	ids, count, err := h.Indexes.PutSynonyms(ctx, req.GetIndexName(), entries, req.GetReplace())
	if err != nil {
		return nil, err
	}
	return &ragdv1.PutSynonymsResponse{SynonymIds: ids, Count: int32(count)}, nil
}

// ListSynonyms implements IndexService.
func (h *Handlers) ListSynonyms(ctx context.Context, req *ragdv1.ListSynonymsRequest) (*ragdv1.ListSynonymsResponse, error) {
	entries, next, err := h.Indexes.ListSynonyms(ctx, req.GetIndexName(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListSynonymsResponse{NextPageToken: next}
	for _, e := range entries {
		res.Synonyms = append(res.Synonyms, &ragdv1.Synonym{SynonymId: e.ID, Terms: e.Terms, Targets: e.Targets, Language: e.Language})
	}
	return res, nil
}

// DeleteSynonyms implements IndexService.
func (h *Handlers) DeleteSynonyms(ctx context.Context, req *ragdv1.DeleteSynonymsRequest) (*ragdv1.DeleteSynonymsResponse, error) {
	deleted, err := h.Indexes.DeleteSynonyms(ctx, req.GetIndexName(), req.GetSynonymIds(), req.GetAll())
	if err != nil {
		return nil, err
	}
	return &ragdv1.DeleteSynonymsResponse{DeletedCount: int32(deleted)}, nil
}
