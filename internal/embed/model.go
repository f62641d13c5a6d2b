package embed

import (
	"context"
	"math"

	"github.com/ragdhq/ragd/internal/fault"
)

// Model is one embedding model of one provider. It is an Embedder of documents
// (questions go through Registry.EmbedQuery), and does not change once made.
type Model struct {
	// Name is provider/model.
	Name string
	// Dimension is the number of values in a vector, or 0 when that is not known
	// before the provider is asked: see Resolve.
	Dimension int
	// MaxTokens is the longest text the model reads, in its own tokens; 0 if not
	// known.
	MaxTokens int

	provider string
	id       string // the model's name at the provider
	known    known
	ask      int // the dimension to ask the provider for; 0 leaves it to the model
	backend  backend
}

// maxDimension is what pgvector can store in a vector.
const maxDimension = 16000

// WithDimension returns the model with vectors of n values; 0 returns the model
// as it is. A model that can shorten its vectors is asked to. One that is not
// well known is expected to answer with n values, and Embed fails when it does
// not. Invalid when n is more than the model has, or not what it has.
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
	case !m.known.shortens:
		return nil, fault.Field("dimension", "%s makes vectors of %d values, not %d", m.Name, native, n)
	case n > native:
		return nil, fault.Field("dimension", "%s makes vectors of at most %d values, not %d", m.Name, native, n)
	default:
		out.ask = n
	}
	return &out, nil
}

// Resolve returns the model with its Dimension known, embedding one word to
// learn it where it must. Errors are those of Embed.
func (m *Model) Resolve(ctx context.Context) (*Model, error) {
	if m.Dimension != 0 {
		return m, nil
	}
	vectors, err := m.embed(ctx, []string{"dimension"}, document)
	if err != nil {
		return nil, err
	}
	out := *m
	out.Dimension = len(vectors[0])
	return &out, nil
}

// Embed returns the vectors of documents, in the order of the texts, each of
// Dimension values (all of one dimension when that is 0). It blocks until every
// text is embedded or one batch has failed for good.
//
// A text longer than the model reads is never cut here: many servers cut it
// themselves without saying so, others refuse it, and then Embed is Invalid and
// names the text. Chunks should stay well under MaxTokens.
//
// Errors by kind: Invalid for a blank text or one the provider refuses;
// Precondition when the provider refuses its API key or does not have the
// model; Exhausted, with the time to wait, when it asks for patience for longer
// than is worth waiting; Unavailable when it does not answer, answers nonsense,
// or answers with vectors of another dimension; the context's error when that
// ends first.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embed(ctx, texts, document)
}

func (m *Model) embed(ctx context.Context, texts []string, p purpose) ([][]float32, error) {
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
	vectors, err := m.backend.embed(ctx, job{model: m.id, dimension: m.ask, texts: prefixed, purpose: p})
	if err != nil {
		return nil, err
	}
	if err := m.check(vectors); err != nil {
		return nil, err
	}
	return vectors, nil
}

// check refuses vectors that would poison an index: of another dimension than
// the rest, or with values that are no numbers.
func (m *Model) check(vectors [][]float32) error {
	want := m.Dimension
	if want == 0 {
		want = len(vectors[0])
	}
	for _, vector := range vectors {
		if len(vector) != want || want == 0 {
			return fault.New(fault.Unavailable, "the embedding model %s answered with a vector of %d values where %d are expected", m.Name, len(vector), want)
		}
		for _, x := range vector {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fault.New(fault.Unavailable, "the embedding model %s answered with a vector that holds values which are not numbers", m.Name)
			}
		}
	}
	return nil
}
