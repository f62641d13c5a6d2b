package query

import (
	"cmp"
	"slices"

	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of a question.
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
	Keyword Mode = "keyword" // texts that share the question's terms, see keywords
	Hybrid  Mode = "hybrid"  // both, fused, see Fusion
)

// Question is what a caller asks of an index: what a vector query and a graph
// query have in common.
type Question struct {
	QueryText       string
	QueryVector     []float32 // instead of an embedding of QueryText
	IndexName       string    // the tenant's only index if empty
	VectorStoreName string
	Namespace       string // index.DefaultNamespace if empty
	TopK            *int   // DefaultTopK if nil
	Filter          filter.Filter
	Mode            Mode   // Hybrid if empty and possible, else Vector
	Boost           *Boost // instead of one of Boosts; nil: none
	Boosts          []Boost
	Profile         string    // name, or name@version, of a ranking profile; the default of the index if empty
	IncludeVectors  *bool     // false if nil
	IncludeSources  *bool     // true if nil
	Reranker        *Reranker // nil: the order of the search
	Explain         bool
	Highlight       bool // set the Highlight of the sources
	// Distinct says that near-identical passages are one source, and topK counts those. Nil: true.
	Distinct *bool
	Expand   Expand // how much of its document a source shows; the chunk if empty
	// MinScore and MinSimilarity exclude sources that do not score more in the search, or
	// whose similarity is not greater. Nil: any.
	MinScore, MinSimilarity *float64
	RecallTarget            *float64       // of an index scan; nil: the index's own
	Freshness               data.Freshness // of the data that is searched
	MaxTokens               *int           // of the relevant context, see package budget; nil: no limit
	EncodingName            string         // that counts them

	stores []string      // the tenant's own names of its store, which Effective adds
	access filter.Filter // the credential's mandatory filter, which Effective adds
	asked  filter.Filter // Filter without access
	within filter.Filter // access and the filter of the request context: what the caller may see
	absent []string      // paths of references in asked that have no value

	resolve func(filter.Filter) (filter.Filter, error) // replaces references of filters
	context []access.ContextValue                      // effective, with Explain
}

// Context returns the effective request context of a question with Explain that Effective
// returned.
func (q Question) Context() []access.ContextValue { return q.context }

// Access returns the credential's mandatory filter, which Effective added.
func (q Question) Access() filter.Filter { return q.access }

// FilterNotes returns the Notes of the filter of the request, without the credential's.
func (q Question) FilterNotes() []string { return q.asked.Notes() }

// Effective returns the question that a request asks: the overrides of the request
// context replace what the body says, and its filter and the credential's mandatory
// filter are and-ed with the body's. Services call it once per request; what they
// call takes the result. Errors: Invalid.
func (q Question) Effective(r *access.Request) (Question, error) {
	o := r.Overrides
	q.resolve = r.Resolve
	q.Freshness.WriteToken = cmp.Or(q.Freshness.WriteToken, r.WriteToken)
	if err := q.Freshness.Check(); err != nil {
		return q, err
	}
	given := filter.And(o.Filter, q.Filter)
	asked, err := r.Resolve(given)
	if err != nil {
		return q, err
	}
	within, err := r.Resolve(o.Filter)
	if err != nil {
		return q, err
	}
	q.within = filter.And(r.Principal.MandatoryFilter, within)
	q.Filter = filter.And(r.Principal.MandatoryFilter, asked)
	q.access, q.asked, q.absent = r.Principal.MandatoryFilter, asked, absent(r, given)
	q.IndexName = *cmp.Or(o.IndexName, &q.IndexName)
	q.VectorStoreName = *cmp.Or(o.VectorStoreName, &q.VectorStoreName)
	q.stores = r.Stores
	q.TopK = cmp.Or(o.TopK, q.TopK)
	q.IncludeVectors = cmp.Or(o.IncludeVectors, q.IncludeVectors)
	q.IncludeSources = cmp.Or(o.IncludeSources, q.IncludeSources)
	q.MinScore = cmp.Or(o.MinScore, q.MinScore)
	q.MinSimilarity = cmp.Or(o.MinSimilarity, q.MinSimilarity)
	if q.Explain {
		q.context = r.Context()
	}
	q.Reranker, err = OverrideReranker(q.Reranker, o.Reranker)
	return q, err
}

// absent returns the paths of references in a filter that have no value in the request.
func absent(r *access.Request, f filter.Filter) []string {
	return slices.DeleteFunc(slices.Clone(f.References()), func(path string) bool {
		value, ok := r.Show(path)
		return ok && value != nil
	})
}
