package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query"
)

// texts is one text or several, as callers send them.
type texts []string

// UnmarshalJSON implements json.Unmarshaler. Errors: Invalid for arrays of tokens, which only the
// tokenizer of one model family could read.
func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	var several []string
	if json.Unmarshal(data, &several) == nil {
		*t = several
		return nil
	}
	if start := bytes.TrimLeft(data, "[ \t\r\n"); len(start) > 0 && start[0] >= '0' && start[0] <= '9' {
		return fault.Field("input", "arrays of tokens are not supported, as each model has its own: send the text, in LangChain with check_embedding_ctx_length=False")
	}
	return fault.Field("input", "must be a string or an array of strings")
}

type embeddingsRequest struct {
	Input          texts  `json:"input"`
	Model          string `json:"model"`
	EncodingFormat string `json:"encoding_format"`
	Dimensions     *int   `json:"dimensions"`
	User           any    `json:"user"` // not used
}

type embedding struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // numbers, or their 4 bytes each in base64
}

type usage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

type embeddings struct {
	Object string      `json:"object"`
	Data   []embedding `json:"data"`
	Model  string      `json:"model"`
	Usage  usage       `json:"usage"`
}

// embed implements POST /v1/embeddings.
func (h *Handler) embed(ctx context.Context, _ *http.Request, in *embeddingsRequest) (*embeddings, error) {
	switch in.EncodingFormat {
	case "", "float", "base64":
	default:
		return nil, fault.Field("encoding_format", "%q is unknown; known are float and base64", shorten(in.EncodingFormat))
	}
	if len(in.Input) == 0 || len(in.Input) > query.MaxEmbedTexts {
		return nil, fault.Field("input", "must be 1 to %d texts, got %d", query.MaxEmbedTexts, len(in.Input))
	}
	model, err := h.modelNamed(ctx, in.Model)
	if err != nil {
		return nil, err
	}
	if in.Dimensions != nil && *in.Dimensions < 1 {
		return nil, fault.Field("dimensions", "must be at least 1, got %d", *in.Dimensions)
	}
	asked := &ragdv1.EmbedRequest{Model: model, Texts: in.Input}
	if in.Dimensions != nil {
		asked.Dimension = int32(min(*in.Dimensions, math.MaxInt32))
	}
	made, err := h.config.API.Embed(ctx, asked)
	if err != nil {
		return nil, fault.Rename("texts", "input", fault.Rename("embeddingModel", "model", fault.Rename("dimension", "dimensions", err)))
	}
	out := &embeddings{Object: "list", Model: in.Model, Data: make([]embedding, len(made.GetEmbeddings()))}
	if out.Model == "" {
		out.Model = made.GetModel()
	}
	for i, e := range made.GetEmbeddings() {
		out.Data[i] = embedding{Object: "embedding", Index: i, Embedding: e.GetValues()}
		if in.EncodingFormat == "base64" {
			out.Data[i].Embedding = base64Of(e.GetValues())
		}
	}
	out.Usage.PromptTokens = tokensOf(in.Input)
	out.Usage.TotalTokens = out.Usage.PromptTokens
	return out, nil
}

// base64Of returns the values as little-endian 32-bit floats in base64.
func base64Of(values []float32) string {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
