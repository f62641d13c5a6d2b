// Package embed turns texts into vectors: embedding providers behind one small
// interface, and a built-in model that needs no provider.
//
//	registry := embed.NewRegistry(embed.Config{OpenAI: provider.Config{APIKey: key}})
//	model, err := registry.Model("openai/text-embedding-3-small")
//	vectors, err := model.Embed(ctx, texts)
//
// A model is named provider/model. The providers are
//
//   - openai: any endpoint that speaks OpenAI's /embeddings (OpenAI, Ollama,
//     vLLM, text-embeddings-inference, LM Studio, ...);
//   - builtin: builtin/hash-512, offline and deterministic. It compares words
//     and parts of words, not meanings.
//
// The package reads no environment and stores nothing but the vectors of recent
// questions.
package embed

import (
	"context"
	"strings"
)

// Embedder turns texts into vectors.
type Embedder interface {
	// Embed returns one vector for each text, in the order of the texts and all
	// of one dimension. Their length is the model's: only builtin promises unit
	// length. It is all or nothing, blocks until every text is embedded, and is
	// safe for concurrent use. A blank text is Invalid; see Model.Embed for the
	// other errors.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// backend is one provider's way of embedding. The texts are neither empty in
// number nor blank, and purpose has already been written into them where the
// model wants that.
type backend interface {
	embed(ctx context.Context, job job) ([][]float32, error)
}

// job is one request to a backend.
type job struct {
	model     string // as the provider calls it
	dimension int    // to ask the provider for; 0 leaves it to the model
	texts     []string
	purpose   purpose
}

// purpose is what the vectors are for. Some models embed questions otherwise
// than documents, and questions must not queue behind an ingest.
type purpose uint8

const (
	document purpose = iota
	question
)

// blank reports a text with nothing in it to embed.
func blank(text string) bool { return strings.TrimSpace(text) == "" }
