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

// PutCurations implements IndexService.
func (h *Handlers) PutCurations(ctx context.Context, req *ragdv1.PutCurationsRequest) (*ragdv1.PutCurationsResponse, error) {
	entries := make([]wording.Curation, len(req.GetCurations()))
	for n, c := range req.GetCurations() {
		entries[n] = wording.Curation{
			ID: c.GetCurationId(), Question: c.GetQuestion(), Match: wording.Match(c.GetMatch()), Pins: curatedOf(c.GetPins()), Hides: curatedOf(c.GetHides()), Namespace: c.GetNamespace(),
		}
	}
	ids, count, err := h.Indexes.PutCurations(ctx, req.GetIndexName(), entries, req.GetReplace())
	if err != nil {
		return nil, err
	}
	return &ragdv1.PutCurationsResponse{CurationIds: ids, Count: int32(count)}, nil
}

// ListCurations implements IndexService.
func (h *Handlers) ListCurations(ctx context.Context, req *ragdv1.ListCurationsRequest) (*ragdv1.ListCurationsResponse, error) {
	entries, next, err := h.Indexes.ListCurations(ctx, req.GetIndexName(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListCurationsResponse{NextPageToken: next}
	for _, e := range entries {
		res.Curations = append(res.Curations, &ragdv1.Curation{
			CurationId: e.ID, Question: e.Question, Match: string(e.Match), Pins: curatedMessages(e.Pins), Hides: curatedMessages(e.Hides), Namespace: e.Namespace,
		})
	}
	return res, nil
}

// DeleteCurations implements IndexService.
func (h *Handlers) DeleteCurations(ctx context.Context, req *ragdv1.DeleteCurationsRequest) (*ragdv1.DeleteCurationsResponse, error) {
	deleted, err := h.Indexes.DeleteCurations(ctx, req.GetIndexName(), req.GetCurationIds(), req.GetAll())
	if err != nil {
		return nil, err
	}
	return &ragdv1.DeleteCurationsResponse{DeletedCount: int32(deleted)}, nil
}

func curatedOf(messages []*ragdv1.Curated) (items []wording.Curated) {
	for _, m := range messages {
		items = append(items, wording.Curated{ID: m.GetId(), DocumentID: m.GetDocumentId(), URI: m.GetUri()})
	}
	return items
}

func curatedMessages(items []wording.Curated) (messages []*ragdv1.Curated) {
	for _, i := range items {
		messages = append(messages, &ragdv1.Curated{Id: i.ID, DocumentId: i.DocumentID, Uri: i.URI})
	}
	return messages
}
