// Package index manages the life of indexes: their settings, their chunk tables
// and the Postgres indexes on them. Searching them is internal/query's, filling
// them internal/ingest's.
package index

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/fault"
)

// Limits of an index.
const (
	// MaxDimension is the widest vector that pgvector stores.
	MaxDimension = 16_000
	// maxHNSWDimension is the widest vector that pgvector's HNSW takes.
	maxHNSWDimension = 2_000
)

// Metric is how two embeddings are compared.
type Metric string

// The metrics.
const (
	Cosine     Metric = "cosine"
	Euclidean  Metric = "euclidean"
	DotProduct Metric = "dotproduct"
)

// Type is the kind of Postgres index over the embeddings.
type Type string

// The types.
const (
	HNSW Type = "hnsw"
	Flat Type = "flat" // none: every search is exact
)

// Config chooses and tunes the Postgres index over the embeddings.
type Config struct {
	Type           Type `json:"type"`
	M              int  `json:"m,omitempty"`              // links per node, hnsw
	EfConstruction int  `json:"efConstruction,omitempty"` // candidates while building, hnsw
}

// Index is a named set of documents of a tenant that are embedded and searched
// alike.
type Index struct {
	ID             int64 // names the chunk table; never used twice in a tenant
	Name           string
	Dimension      int
	Metric         Metric
	Config         Config
	EmbeddingModel string         // provider/model; empty: ready-made vectors only
	Chunking       map[string]any // defaults of uploads, as chunk.ParseOptions takes them
	TextLanguage   string         // text search configuration of PostgreSQL
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Model returns the model that makes the index's embeddings. Errors:
// Precondition when its provider is not configured any more.
func (i Index) Model(models *embed.Registry) (*embed.Model, error) {
	model, err := models.Model(i.EmbeddingModel)
	if err != nil {
		return nil, err
	}
	return model.WithDimension(i.Dimension)
}

// Counts are what an index holds.
type Counts struct {
	Chunks           int64
	ReadyDocuments   int64
	PendingDocuments int64
	FailedDocuments  int64
}

// Spec is what a caller decides about an index to be made. Zero values mean the
// defaults.
type Spec struct {
	Name           string
	Dimension      int
	Metric         Metric
	Config         Config
	EmbeddingModel string
	Chunking       map[string]any
	TextLanguage   string
}

var (
	namePattern     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)
	languagePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
)

// check validates a spec and fills in the defaults that need no look-up.
func (s *Spec) check() error {
	if !namePattern.MatchString(s.Name) {
		return fault.Field("indexName", "must be 1 to 63 characters of letters, digits, _ and -, the first a letter or _")
	}
	if s.Dimension < 0 || s.Dimension > MaxDimension {
		return fault.Field("dimension", "must be between 1 and %d, got %d", MaxDimension, s.Dimension)
	}
	if s.Metric == "" {
		s.Metric = Cosine
	}
	if !slices.Contains([]Metric{Cosine, Euclidean, DotProduct}, s.Metric) {
		return fault.Field("metric", "unknown metric %q; known are cosine, euclidean and dotproduct", s.Metric)
	}
	if s.TextLanguage == "" {
		s.TextLanguage = "english"
	}
	if !languagePattern.MatchString(s.TextLanguage) {
		return fault.Field("textLanguage", "must name a text search configuration such as english or simple")
	}
	return s.Config.check()
}

func (c *Config) check() error {
	switch c.Type {
	case "":
		c.Type = HNSW
	case HNSW, Flat:
	default:
		return fault.Field("indexConfig.type", "unknown type %q; known are hnsw and flat", c.Type)
	}
	if c.Type == Flat {
		if c.M != 0 || c.EfConstruction != 0 {
			return fault.Field("indexConfig.hnsw", "has no meaning for type flat")
		}
		return nil
	}
	if c.M == 0 {
		c.M = 16
	}
	if c.M < 2 || c.M > 100 {
		return fault.Field("indexConfig.hnsw.m", "must be between 2 and 100, got %d", c.M)
	}
	if c.EfConstruction == 0 {
		c.EfConstruction = max(64, 2*c.M)
	}
	if c.EfConstruction < 2*c.M || c.EfConstruction > 1000 {
		return fault.Field("indexConfig.hnsw.efConstruction", "must be between twice m (%d) and 1000, got %d", 2*c.M, c.EfConstruction)
	}
	return nil
}

// checkDimension is the check that needs the final dimension.
func (s *Spec) checkDimension() error {
	if s.Config.Type == HNSW && s.Dimension > maxHNSWDimension {
		return fault.Field("dimension", "is %d, and an hnsw index takes at most %d: choose indexConfig.type flat or a smaller dimension", s.Dimension, maxHNSWDimension)
	}
	return nil
}

// differences names the settings in which an existing index differs from a spec,
// with both values.
func (i Index) differences(s Spec) []string {
	var out []string
	note := func(field string, has, wanted any) {
		if !reflect.DeepEqual(has, wanted) {
			out = append(out, fmt.Sprintf("%s is %v, not %v", field, has, wanted))
		}
	}
	note("dimension", i.Dimension, s.Dimension)
	note("metric", i.Metric, s.Metric)
	note("indexConfig", i.Config, s.Config)
	note("embeddingModel", i.EmbeddingModel, s.EmbeddingModel)
	note("chunking", i.Chunking, s.Chunking)
	note("textLanguage", i.TextLanguage, s.TextLanguage)
	return out
}
