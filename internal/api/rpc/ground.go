package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/query/grounding"
)

// CheckGrounding implements QueryService.
func (h *Handlers) CheckGrounding(ctx context.Context, req *ragdv1.CheckGroundingRequest) (*ragdv1.CheckGroundingResponse, error) {
	f, err := filter.Parse(req.GetFilter().AsInterface())
	if err != nil {
		return nil, err
	}
	texts := make([]grounding.Source, len(req.GetTexts()))
	for n, text := range req.GetTexts() {
		texts[n] = grounding.Source{Title: text.GetTitle(), Text: text.GetText()}
	}
	found, err := h.Queries.CheckGrounding(ctx, query.GroundingRequest{
		Answer: req.GetAnswer(), Texts: texts, IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), ChunkIDs: req.GetChunkIds(),
		DocumentIDs: req.GetDocumentIds(), QueryText: req.GetQueryText(), TopK: intOf(req.TopK), Filter: f,
	})
	if err != nil {
		return nil, err
	}
	res := &ragdv1.CheckGroundingResponse{
		Score: found.Score, SupportedCount: int32(found.Count(grounding.Supported)), PartlyCount: int32(found.Count(grounding.Partly)),
		UnsupportedCount: int32(found.Count(grounding.Unsupported)),
	}
	source := make([]string, len(found.Sources))
	for n, s := range found.Sources {
		source[n] = s.Text
		res.Sources = append(res.Sources, &ragdv1.GroundingSource{
			Id: s.ID, DocumentId: s.DocumentID, Uri: s.URI, Title: s.Title, StartByte: uint32(s.StartByte), EndByte: uint32(s.EndByte),
		})
	}
	for _, s := range found.Sentences {
		res.Sentences = append(res.Sentences, groundedSentence(req.GetAnswer(), source, s))
	}
	return res, nil
}

// groundedSentence converts a sentence of an answer, given the texts of its sources.
func groundedSentence(answer string, sources []string, s grounding.Sentence) *ragdv1.GroundedSentence {
	m := &ragdv1.GroundedSentence{Range: rangeMessage(query.Span(s.Span)), Text: answer[s.Start:s.End], State: string(s.State), Score: s.Score}
	for _, q := range s.Quotes {
		m.Quotes = append(m.Quotes, &ragdv1.GroundingQuote{Source: int32(q.Source), Range: rangeMessage(query.Span(q.Span)), Text: sources[q.Source][q.Start:q.End]})
	}
	for _, missing := range s.Missing {
		m.Missing = append(m.Missing, &ragdv1.GroundingMissing{
			Range: rangeMessage(query.Span(missing.Span)), Text: answer[missing.Start:missing.End], Kind: string(missing.Kind), Elsewhere: missing.Elsewhere,
		})
	}
	return m
}
