package query

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// DatabaseConfig holds options under the names that other vector stores use. Only the
// block of the store that VectorStoreName names applies, by default PGVector.
type DatabaseConfig struct {
	PGVector *PGVectorConfig `json:"pgvector"`
	Pinecone *PineconeConfig `json:"pinecone"`
	Chroma   *ChromaConfig   `json:"chroma"`
}

// PGVectorConfig bounds the scores and the search width.
type PGVectorConfig struct {
	MinScore *float64 `json:"minScore"` // sources score more than this
	Ef       *int     `json:"ef"`       // candidates of an HNSW scan, 1 to maxEf
	Probes   *int     `json:"probes"`   // lists that an IVFFlat scan reads, 1 to maxProbes
}

// PineconeConfig holds a namespace, and a query vector for an index of sparse
// vectors.
type PineconeConfig struct {
	Namespace    string        `json:"namespace"`
	SparseVector *index.Sparse `json:"sparseVector"`
}

// ChromaConfig holds conditions on the metadata and on the text of a chunk.
type ChromaConfig struct {
	Where         any `json:"where"`         // a filter
	WhereDocument any `json:"whereDocument"` // $contains, $not_contains, $regex, $not_regex, $and and $or
}

// parseDatabaseConfig decodes the options of the request context. Errors: Invalid.
func parseDatabaseConfig(raw []byte) (DatabaseConfig, error) {
	var c DatabaseConfig
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return c, fault.Field("databaseConfig", "must be an object with some of pgvector{minScore, ef, probes}, pinecone{namespace, sparseVector{indices, values}} and chroma{where, whereDocument}")
	}
	return c, nil
}

// Values of VectorStoreName. ragd and pgvector name the same block.
const (
	storeRagd     = "ragd"
	storePGVector = "pgvector"
	storePinecone = "pinecone"
	storeChroma   = "chroma"
)

// blockOf returns the block of the options that applies to a store. A name of the tenant's own
// means the store that there is, whose block is the only one given, else that of PGVector.
// Errors: Invalid.
func blockOf(store string, own []string, c DatabaseConfig) (string, error) {
	known := []string{storePGVector, storePinecone, storeChroma}
	switch lower := strings.ToLower(store); {
	case store == "" || lower == storeRagd:
		return storePGVector, nil
	case slices.Contains(known, lower):
		return lower, nil
	case !slices.Contains(own, store):
		names := append([]string{storeRagd}, append(known, own...)...)
		return "", fault.Field("vectorStoreName", "unknown store %q%s; leave it out, or take one of %s", store, nearest.Hint(store, names), strings.Join(names, ", "))
	case c.PGVector == nil && c.Pinecone != nil && c.Chroma == nil:
		return storePinecone, nil
	case c.PGVector == nil && c.Pinecone == nil && c.Chroma != nil:
		return storeChroma, nil
	}
	return storePGVector, nil
}

// Check checks the options of all stores. Errors: Invalid.
func (c DatabaseConfig) Check() error {
	var p prepared
	if c.PGVector != nil {
		if err := p.configurePGVector(*c.PGVector); err != nil {
			return fault.Under("databaseConfig."+storePGVector, err)
		}
	}
	if c.Chroma != nil {
		return fault.Under("databaseConfig."+storeChroma, p.configureChroma(*c.Chroma))
	}
	return nil
}

// configure applies the block of the store, which own lists the tenant's names of, and warns
// of other blocks. Errors: Invalid.
func (p *prepared) configure(store string, own []string, c DatabaseConfig) error {
	store, err := blockOf(store, own, c)
	if err != nil {
		return err
	}
	blocks := []struct {
		store string
		given bool
		apply func() error
	}{
		{storePGVector, c.PGVector != nil, func() error { return p.configurePGVector(*c.PGVector) }},
		{storePinecone, c.Pinecone != nil, func() error { return p.configurePinecone(*c.Pinecone) }},
		{storeChroma, c.Chroma != nil, func() error { return p.configureChroma(*c.Chroma) }},
	}
	for _, block := range blocks {
		if !block.given {
			continue
		}
		if block.store != store {
			p.warnings = append(p.warnings, "databaseConfig."+block.store+" was not used: the store is "+store)
			continue
		}
		if err := block.apply(); err != nil {
			return fault.Under("databaseConfig."+store, err)
		}
	}
	return nil
}

func (p *prepared) configurePGVector(c PGVectorConfig) error {
	if c.MinScore != nil && !finite(*c.MinScore) {
		return fault.Field("minScore", "must be a finite number")
	}
	p.minScore = cmp.Or(p.minScore, c.MinScore)
	if c.Ef != nil {
		if *c.Ef < 1 || *c.Ef > maxEf {
			return fault.Field("ef", "must be between 1 and %d, got %d", maxEf, *c.Ef)
		}
		p.ef = *c.Ef
	}
	if c.Probes != nil {
		if *c.Probes < 1 || *c.Probes > maxProbes {
			return fault.Field("probes", "must be between 1 and %d, got %d", maxProbes, *c.Probes)
		}
		p.probes = *c.Probes
	}
	return nil
}

func (p *prepared) configurePinecone(c PineconeConfig) error {
	if c.Namespace != "" {
		p.scope.namespace = c.Namespace
	}
	if c.SparseVector != nil {
		p.sparse, p.sparseField = c.SparseVector, "databaseConfig.pinecone.sparseVector"
	}
	return nil
}

func (p *prepared) configureChroma(c ChromaConfig) error {
	where, err := filter.Parse(c.Where)
	if err == nil && p.resolve != nil {
		where, err = p.resolve(where)
	}
	if err != nil {
		return fault.Rename("filter", "where", err)
	}
	p.scope.filter = filter.And(p.scope.filter, where)
	if c.WhereDocument == nil {
		return nil
	}
	condition, err := documentCondition(c.WhereDocument, maxDocumentDepth)
	if err != nil {
		return err
	}
	p.scope.document, err = filter.Parse(condition)
	return fault.Rename("filter", "whereDocument", err)
}

const maxDocumentDepth = 16

// documentCondition returns a condition on a text as a filter on the field text.
// Errors: Invalid.
func documentCondition(condition any, depth int) (map[string]any, error) {
	object, ok := condition.(map[string]any)
	if !ok || len(object) != 1 || depth == 0 {
		return nil, fault.Field("whereDocument", "must be an object with one of $contains, $not_contains, $regex, $not_regex, $and and $or, nested at most %d deep", maxDocumentDepth)
	}
	for operator, argument := range object {
		switch operator {
		case "$contains", "$regex", "$not_contains", "$not_regex":
			if _, ok := argument.(string); !ok {
				return nil, fault.Field("whereDocument", "%s must be a string", operator)
			}
			if !strings.HasPrefix(operator, "$not_") {
				return map[string]any{"text": map[string]any{operator: argument}}, nil
			}
			positive := "$" + strings.TrimPrefix(operator, "$not_")
			return map[string]any{"text": map[string]any{"$not": map[string]any{positive: argument}}}, nil
		case "$and", "$or":
			branches, ok := argument.([]any)
			if !ok || len(branches) == 0 {
				return nil, fault.Field("whereDocument", "%s must be a list of conditions", operator)
			}
			conditions := make([]any, len(branches))
			for n, branch := range branches {
				condition, err := documentCondition(branch, depth-1)
				if err != nil {
					return nil, err
				}
				conditions[n] = condition
			}
			return map[string]any{operator: conditions}, nil
		default:
			return nil, fault.Field("whereDocument", "Unsupported operator: %s", operator)
		}
	}
	return nil, nil
}
