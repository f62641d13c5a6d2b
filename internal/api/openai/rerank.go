package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/rerank"
)

// rerankText is a document of a rerank request: a string, or an object with the field text.
type rerankText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *rerankText) UnmarshalJSON(data []byte) error {
	var object struct {
		Text *string `json:"text"`
	}
	switch {
	case bytes.HasPrefix(data, []byte(`"`)):
		return json.Unmarshal(data, (*string)(t))
	case json.Unmarshal(data, &object) == nil && object.Text != nil:
		*t = rerankText(*object.Text)
		return nil
	}
	return fault.Field("documents", "must be strings, or objects with a text")
}

type rerankRequest struct {
	Model           string       `json:"model"`
	Query           string       `json:"query"`
	Documents       []rerankText `json:"documents"`
	TopN            *int32       `json:"top_n"`
	ReturnDocuments bool         `json:"return_documents"`
	RankFields      []string     `json:"rank_fields"`
	// Limits of the provider's own models, and the order of its queue: not used.
	MaxChunksPerDoc any `json:"max_chunks_per_doc"`
	MaxTokensPerDoc any `json:"max_tokens_per_doc"`
	Priority        any `json:"priority"`
}

type rerankResult struct {
	Index          int             `json:"index"`
	RelevanceScore float64         `json:"relevance_score"`
	Document       *rerankDocument `json:"document,omitempty"`
}

type rerankDocument struct {
	Text string `json:"text"`
}

type rerankResponse struct {
	ID      string         `json:"id"`
	Results []rerankResult `json:"results"`
	Meta    rerankMeta     `json:"meta"`
}

type rerankMeta struct {
	APIVersion  map[string]string `json:"api_version"`
	BilledUnits map[string]int    `json:"billed_units"`
	Warnings    []string          `json:"warnings,omitempty"`
}

// rerankV1 implements POST /v1/rerank.
func (h *Handler) rerankV1(ctx context.Context, _ *http.Request, in *rerankRequest) (*rerankResponse, error) {
	return h.rerank(ctx, in, "1")
}

// rerankV2 implements POST /v2/rerank.
func (h *Handler) rerankV2(ctx context.Context, _ *http.Request, in *rerankRequest) (*rerankResponse, error) {
	return h.rerank(ctx, in, "2")
}

func (h *Handler) rerank(ctx context.Context, in *rerankRequest, version string) (*rerankResponse, error) {
	switch {
	case len(in.Documents) == 0 || len(in.Documents) > rerank.MaxCandidates:
		return nil, fault.Field("documents", "must be 1 to %d documents, got %d", rerank.MaxCandidates, len(in.Documents))
	case len(in.RankFields) > 0 && (len(in.RankFields) > 1 || in.RankFields[0] != "text"):
		return nil, fault.Field("rank_fields", "documents are ranked by their text: leave rank_fields out")
	case in.TopN != nil && *in.TopN < 1:
		return nil, fault.Field("top_n", "must be at least 1, got %d", *in.TopN)
	}
	name, err := h.modelNamed(ctx, in.Model)
	if err != nil {
		return nil, err
	}
	// The score of the model alone: there is no first stage.
	asked := &ragdv1.RerankRequest{QueryText: in.Query, Reranker: &ragdv1.Reranker{
		Model: name, Required: true, TopK: proto.Int32(int32(len(in.Documents))),
		Weights: &ragdv1.RerankerWeights{Semantic: proto.Float64(1), Vector: proto.Float64(0), Position: proto.Float64(0)},
	}}
	if in.TopN != nil {
		asked.Reranker.TopK = proto.Int32(min(*in.TopN, int32(len(in.Documents))))
	}
	for _, text := range in.Documents {
		asked.Results = append(asked.Results, &ragdv1.Source{Document: string(text)})
	}
	position := make(map[*ragdv1.Source]int, len(asked.GetResults()))
	for i, source := range asked.GetResults() {
		position[source] = i
	}
	made, err := h.config.API.Rerank(ctx, asked)
	if err != nil {
		return nil, fault.Rename("queryText", "query", fault.Rename("results", "documents", fault.Rename("reranker.model", "model", err)))
	}
	out := &rerankResponse{ID: httpserver.RequestID(ctx), Results: []rerankResult{}, Meta: rerankMeta{
		APIVersion: map[string]string{"version": version}, BilledUnits: map[string]int{"search_units": 1}, Warnings: made.GetWarnings(),
	}}
	for _, r := range made.GetResults() {
		result := rerankResult{Index: position[r.GetResult()], RelevanceScore: r.GetDetails().GetSemantic()}
		if in.ReturnDocuments {
			result.Document = &rerankDocument{r.GetResult().GetDocument()}
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}
