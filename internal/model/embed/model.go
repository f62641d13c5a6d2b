package embed

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Model is an embedding model of a provider. Embed is for documents; questions go through
// Registry.EmbedQuery. It is immutable.
type Model struct {
	// Name is endpoint/model.
	Name string
	// Dimension is the number of values in a vector, or 0 if only the provider knows it:
	// see Resolve.
	Dimension int
	// MaxTokens is the longest text the model reads, in its own tokens; 0 if not
	// known.
	MaxTokens int

	id      string // the model's name at the endpoint
	known   known
	ask     int    // the dimension requested from the endpoint; 0 for the model's default
	cut     bool   // vectors are cut to Dimension
	here    bool   // the model runs in this process
	scope   string // of cached vectors: changes with the endpoint's address
	backend backend
	meter   endpoint.Meter // nil for the builtin model, which is not counted
}

// maxDimension is the most values that pgvector can store in a vector.
const maxDimension = 16000

// WithDimension returns the model with vectors of n values; for 0 it returns the model
// unchanged. A model that can shorten its vectors is asked to do that; those of other Matryoshka models
// are cut and scaled to unit length. A model that is
// not well known is expected to answer with n values, and Embed fails if it does not.
// Errors: Invalid if the model cannot make vectors of n values.
func (m *Model) WithDimension(n int) (*Model, error) {
	if n == 0 || n == m.Dimension {
		return m, nil
	}
	if n < 1 || n > maxDimension {
		return nil, fault.Field("dimension", "must be between 1 and %d, got %d", maxDimension, n)
	}
	out := *m
	out.Dimension = n
	switch native := m.known.dimension; {
	case native == 0:
	case !m.known.shortens && !m.known.matryoshka:
		return nil, fault.Field("dimension", "%s makes vectors of %d values, not %d", m.Name, native, n)
	case n > max(native, m.known.longest):
		return nil, fault.Field("dimension", "%s makes vectors of at most %d values, not %d", m.Name, max(native, m.known.longest), n)
	default:
		out.cut = m.known.matryoshka
		if m.known.shortens {
			out.ask = n
		}
	}
	return &out, nil
}

// Resolve returns the model with its Dimension set. If that is not known yet, it embeds
// one word for the tenant to learn it. Errors: those of Embed.
func (m *Model) Resolve(ctx context.Context, tenant string) (*Model, error) {
	if m.Dimension != 0 {
		return m, nil
	}
	vectors, err := m.embed(ctx, tenant, []string{"dimension"}, document)
	if err != nil {
		return nil, err
	}
	out := *m
	out.Dimension = len(vectors[0])
	return &out, nil
}

// Embed returns the vectors of a tenant's documents, in the order of the texts, each of
// Dimension values (of one common dimension if that is 0). It blocks until every text is
// embedded or a batch has failed permanently. Only the vectors of builtin are sure to have
// unit length. Safe for concurrent use.
//
// A text longer than the model reads is never cut here. Many servers cut it silently;
// others refuse it, and then the error is Invalid and names the text. Chunks should
// stay well under MaxTokens.
//
// Errors by kind: Invalid for a blank text or one that the provider refuses;
// Precondition when the provider refuses its API key or does not have the model;
// Exhausted, with the time to wait, when the provider asks for a longer wait than
// endpoint.Config.MaxWait; Unavailable when it does not answer, answers something unusable, or
// answers with vectors of another dimension; the error of ctx when that ends first.
func (m *Model) Embed(ctx context.Context, tenant string, texts []string) ([][]float32, error) {
	return m.embed(ctx, tenant, texts, document)
}

func (m *Model) embed(ctx context.Context, tenant string, texts []string, p purpose) ([][]float32, error) {
	prefix := m.known.documentPrefix
	if p == question {
		prefix = m.known.questionPrefix
	}
	prefixed := make([]string, len(texts))
	for i, text := range texts {
		if blank(text) {
			return nil, fault.Field("texts", "text %d is blank; there is nothing to embed", i)
		}
		prefixed[i] = prefix + text
	}
	if len(texts) == 0 {
		return nil, nil
	}
	j := job{tenant: tenant, model: m.id, dimension: m.ask, texts: prefixed, purpose: p, tokens: new(atomic.Int64)}
	if m.meter != nil {
		if err := m.meter.Admit(ctx, tenant); err != nil {
			return nil, err
		}
		defer func() {
			if used := int(j.tokens.Load()); used > 0 {
				m.meter.Count(ctx, tenant, endpoint.Embed, m.Name, used, 0)
			}
		}()
	}
	vectors, err := m.backend.embed(ctx, j)
	if err != nil {
		return nil, err
	}
	if m.cut {
		cut(vectors, m.Dimension)
	}
	if err := m.check(vectors); err != nil {
		return nil, err
	}
	return vectors, nil
}

// cut shortens vectors of a Matryoshka model to n values of unit length, in place.
func cut(vectors [][]float32, n int) {
	for i, vector := range vectors {
		if len(vector) > n {
			vectors[i] = vector[:n:n]
			normalize(vectors[i])
		}
	}
}

// check refuses vectors that would corrupt an index: of another dimension, or with NaN
// or infinite values.
func (m *Model) check(vectors [][]float32) error {
	want := m.Dimension
	if want == 0 {
		want = len(vectors[0])
	}
	for _, vector := range vectors {
		if len(vector) != want || want == 0 {
			return fault.New(fault.Unavailable, "the embedding model %s answered with a vector of %d values where %d are expected: use an index of dimension %d for it, or another model", m.Name, len(vector), want, len(vector))
		}
		for _, x := range vector {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fault.New(fault.Unavailable, "the embedding model %s answered with a vector that holds values which are not numbers", m.Name)
			}
		}
	}
	return nil
}
