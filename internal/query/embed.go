package query

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Limits of an Embed call.
const (
	// MaxEmbedTexts is the number of texts of one call.
	MaxEmbedTexts     = 2048
	maxEmbedTextBytes = 1 << 20
)

// Embeddings are the result of Embed.
type Embeddings struct {
	Model     string
	Dimension int
	Values    [][]float32 // one per text, in order, each of Dimension values
}

// Embed returns the embeddings of texts by the named model, or by the default model
// if the name is empty. Errors: Invalid naming the field, Unavailable when the model
// does not answer.
func (s *Service) Embed(ctx context.Context, model string, dimension int, texts []string) (Embeddings, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Embeddings{}, err
	}
	if model == "" {
		model = s.defaultModel
	}
	if len(texts) == 0 || len(texts) > MaxEmbedTexts {
		return Embeddings{}, fault.Field("texts", "must be 1 to %d texts, got %d", MaxEmbedTexts, len(texts))
	}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" || len(text) > maxEmbedTextBytes || !utf8.ValidString(text) {
			return Embeddings{}, fault.Field("texts", "text %d must be 1 to %d bytes of UTF-8 and not blank", i, maxEmbedTextBytes)
		}
	}
	made, err := s.models.Model(ctx, string(r.Tenant), model)
	if err != nil {
		return Embeddings{}, err
	}
	if made, err = made.WithDimension(dimension); err != nil {
		return Embeddings{}, err
	}
	values, err := made.Embed(ctx, string(r.Tenant), texts)
	if err != nil {
		return Embeddings{}, err
	}
	return Embeddings{Model: made.Name, Dimension: len(values[0]), Values: values}, nil
}
