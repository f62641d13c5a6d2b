// Package query retrieves: it finds the chunks of an index that answer a
// question, by embedding, by keyword or by both, and assembles them into sources
// and a context for a prompt.
package query

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Limits of a query.
const (
	DefaultTopK = 10
	MaxTopK     = 1000
	// MaxQueryTextBytes bounds a question; longer texts belong in an upload.
	MaxQueryTextBytes = 32 << 10
)

// Mode is how candidates are found.
type Mode string

// The modes.
const (
	Vector  Mode = "vector"  // nearest embeddings
	Keyword Mode = "keyword" // texts that share the question's words
	Hybrid  Mode = "hybrid"  // both, fused by reciprocal rank
)

// Request is a query as a caller sends it.
type Request struct {
	QueryText       string
	QueryVector     []float32 // instead of an embedding of QueryText
	IndexName       string    // the tenant's only index if empty
	VectorStoreName string
	TopK            *int // DefaultTopK if nil
	Filter          filter.Filter
	Mode            Mode // Hybrid if empty and possible, else Vector
	IncludeVectors  *bool
	IncludeSources  *bool
	Explain         bool
}

// Source is one retrieved chunk.
type Source struct {
	ID         string
	DocumentID string
	URI        string
	Title      string
	Ordinal    int // position in the document, from 0
	Text       string
	Metadata   map[string]any
	Score      float64   // higher is better, never NaN
	Vector     []float32 // nil unless asked for
	StartByte  int
	EndByte    int
}

// Response is an answer: sources best first, ties by id.
type Response struct {
	RelevantContext string
	Sources         []Source
	Warnings        []string
	Explain         *Explain
}

// plan is a request with everything decided.
type plan struct {
	text           string
	vector         []float32
	topK           int
	filter         filter.Filter
	mode           Mode
	includeVectors bool
	includeSources bool
}

// override applies the request context, which goes before the body. Filters are
// and-ed with the credential's.
func (r *Request) override(c *tenant.Request) {
	o := c.Overrides
	r.Filter = filter.And(c.Principal.MandatoryFilter, o.Filter, r.Filter)
	r.IndexName = *firstOf(o.IndexName, &r.IndexName)
	r.VectorStoreName = *firstOf(o.VectorStoreName, &r.VectorStoreName)
	r.TopK = firstOf(o.TopK, r.TopK)
	r.IncludeVectors = firstOf(o.IncludeVectors, r.IncludeVectors)
	r.IncludeSources = firstOf(o.IncludeSources, r.IncludeSources)
}

// firstOf returns the first pointer that is not nil, or nil.
func firstOf[T any](values ...*T) *T {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

func valueOr[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// plan validates what can be said without knowing the index.
func (r Request) plan() (plan, error) {
	p := plan{
		text: r.QueryText, vector: r.QueryVector, filter: r.Filter, mode: r.Mode,
		topK:           valueOr(r.TopK, DefaultTopK),
		includeVectors: valueOr(r.IncludeVectors, false),
		includeSources: valueOr(r.IncludeSources, true),
	}
	if p.topK < 1 || p.topK > MaxTopK {
		return p, fault.Field("topK", "must be between 1 and %d, got %d", MaxTopK, p.topK)
	}
	if !slices.Contains([]string{"", "ragd", "pgvector"}, r.VectorStoreName) {
		return p, fault.Field("vectorStoreName", "unknown store %q; leave it out, or say ragd or pgvector", r.VectorStoreName)
	}
	if !slices.Contains([]Mode{"", Vector, Keyword, Hybrid}, p.mode) {
		return p, fault.Field("searchMode", "unknown mode %q; known are vector, keyword and hybrid", p.mode)
	}
	return p, p.checkQuestion()
}

func (p plan) checkQuestion() error {
	switch {
	case len(p.text) > MaxQueryTextBytes:
		return fault.Field("queryText", "is %d bytes, over the limit of %d", len(p.text), MaxQueryTextBytes)
	case !utf8.ValidString(p.text) || strings.ContainsRune(p.text, 0):
		return fault.Field("queryText", "must be valid UTF-8 without null characters")
	}
	for i, v := range p.vector {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fault.Field("queryVector", "has a value that is not a finite number at position %d", i)
		}
	}
	return nil
}

// settle decides the mode and checks the question against the index.
func (p *plan) settle(i index.Index) error {
	hasText := strings.TrimSpace(p.text) != ""
	hasVector := len(p.vector) > 0 || hasText && i.EmbeddingModel != ""
	if p.mode == "" {
		p.mode = Vector
		if hasText && hasVector {
			p.mode = Hybrid
		}
	}
	if p.mode != Vector && !hasText {
		return fault.Field("queryText", "is needed for %s search and must not be blank", p.mode)
	}
	if p.mode != Keyword && !hasVector {
		if hasText {
			return fault.Field("queryVector", "is needed: index %q has no embedding model that could embed queryText", i.Name)
		}
		return fault.Field("queryText", "must not be blank: give a question, or a queryVector")
	}
	if len(p.vector) > 0 && len(p.vector) != i.Dimension {
		return fault.Field("queryVector", "has %d dimensions, but index %q has %d", len(p.vector), i.Name, i.Dimension)
	}
	return nil
}
