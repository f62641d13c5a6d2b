package rpc

import (
	"context"
	"maps"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/query"
)

// VectorQuery implements QueryService.
func (h *Handlers) VectorQuery(ctx context.Context, req *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
	f, err := filter.Parse(req.GetFilter().AsInterface())
	if err != nil {
		return nil, err
	}
	wanted := query.Request{
		QueryText: req.GetQueryText(), QueryVector: req.GetQueryVector(), IndexName: req.GetIndexName(),
		VectorStoreName: req.GetVectorStoreName(), Filter: f, Mode: query.Mode(req.GetSearchMode()),
		IncludeVectors: req.IncludeVectors, IncludeSources: req.IncludeSources, Explain: req.GetExplain(),
	}
	if req.TopK != nil {
		topK := int(*req.TopK)
		wanted.TopK = &topK
	}
	found, err := h.Queries.Query(ctx, wanted)
	if err != nil {
		return nil, err
	}
	sources, err := convertAll(found.Sources, sourceMessage)
	return &ragdv1.VectorQueryResponse{
		RelevantContext: found.RelevantContext, Sources: sources, Warnings: found.Warnings, Explain: explainMessage(found.Explain),
	}, err
}

func sourceMessage(s query.Source) (*ragdv1.Source, error) {
	// Clients of other stores look for a chunk's text in its metadata.
	withText := map[string]any{"text": s.Text}
	maps.Copy(withText, s.Metadata)
	metadata, err := structOf(withText)
	return &ragdv1.Source{
		Id: s.ID, Metadata: metadata, Vector: s.Vector, Score: s.Score, Document: s.Text, DocumentId: s.DocumentID,
		Uri: s.URI, Title: s.Title, Ordinal: int32(s.Ordinal), StartByte: uint32(s.StartByte), EndByte: uint32(s.EndByte),
	}, err
}

func explainMessage(e *query.Explain) *ragdv1.Explain {
	if e == nil {
		return nil
	}
	message := &ragdv1.Explain{SearchMode: string(e.Mode)}
	for _, stage := range e.Stages {
		message.Stages = append(message.Stages, &ragdv1.Stage{
			Name: stage.Name, DurationMs: float64(stage.Duration) / float64(time.Millisecond), Candidates: int32(stage.Candidates),
		})
	}
	return message
}

// Embed implements QueryService.
func (h *Handlers) Embed(ctx context.Context, req *ragdv1.EmbedRequest) (*ragdv1.EmbedResponse, error) {
	made, err := h.Queries.Embed(ctx, req.GetModel(), req.GetTexts())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.EmbedResponse{Model: made.Model, Dimension: int32(made.Dimension)}
	for _, values := range made.Values {
		res.Embeddings = append(res.Embeddings, &ragdv1.Embedding{Values: values})
	}
	return res, nil
}
