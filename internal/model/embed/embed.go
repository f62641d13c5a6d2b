// Package embed turns texts into vectors, with the models of embedding providers or
// with a builtin model that needs none.
//
//	registry := embed.NewRegistry(embed.Config{Endpoints: directory})
//	model, err := registry.Model(ctx, tenant, "openai/text-embedding-3-small")
//	vectors, err := model.Embed(ctx, tenant, texts)
//
// A model is named endpoint/model, where the endpoint is one of endpoint.Directory, or
//
//   - builtin: builtin/hash-512, offline and deterministic. It compares words and
//     their beginnings and endings, not meanings;
//   - local: a model of Config.Local, in this process.
//
// Auto names one of these two.
//
// The package reads no environment and caches only the vectors of recent questions.
package embed

import (
	"context"
	"strings"
	"sync/atomic"
)

// Auto is the name of the model that Local chooses, or of builtin/hash-512 if it has none.
const Auto = "auto"

// backend embeds with the models of one endpoint. There is at least one text, none is
// blank, and each already has the prefix that the model needs for the purpose.
type backend interface {
	embed(ctx context.Context, job job) ([][]float32, error)
}

// job is one request to a backend.
type job struct {
	tenant    string // whose quota of the endpoint's calls is used
	model     string // its name at the endpoint
	dimension int    // requested from the endpoint; 0 for the model's default
	texts     []string
	purpose   purpose
	tokens    *atomic.Int64 // gets those that the endpoint counted, or an estimate
}

// purpose is the use of the vectors. Some models embed questions and documents
// differently, and questions must not wait behind an ingest.
type purpose uint8

const (
	document purpose = iota
	question
)

// blank reports whether a text is empty or only white space.
func blank(text string) bool { return strings.TrimSpace(text) == "" }
