// Package index manages the life of indexes: their settings, their chunk tables
// and the Postgres indexes on them. Searching them is internal/query's, filling
// them internal/ingest's.
package index

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
)

// Limits of an index.
const (
	// MaxDimension is the widest vector that pgvector stores, and MaxBits the widest
	// of bits that it indexes.
	MaxDimension = 16_000
	MaxBits      = 64_000
	// maxMetadataIndexes bounds the Postgres indexes that every write feeds: two
	// for each field.
	maxMetadataIndexes = 16
)

// DefaultNamespace is where documents and vectors are whose writer names no other.
const DefaultNamespace = "default"

const maxNamespaceBytes = 255

// Namespace returns the namespace that a caller means, the default one if it is empty.
// Errors: Invalid.
func Namespace(given string) (string, error) {
	if len(given) > maxNamespaceBytes || !utf8.ValidString(given) || strings.ContainsRune(given, 0) {
		return "", fault.Field("namespace", "must be at most %d bytes of UTF-8 without null characters", maxNamespaceBytes)
	}
	return cmp.Or(given, DefaultNamespace), nil
}

// Metric is how two embeddings are compared.
type Metric string

// The metrics.
const (
	Cosine     Metric = "cosine"
	Euclidean  Metric = "euclidean"
	DotProduct Metric = "dotproduct"
	Hamming    Metric = "hamming" // of bits
	Jaccard    Metric = "jaccard" // of bits
)

// Index is a named set of documents of a tenant that are embedded and searched
// alike.
type Index struct {
	ID              int64 // names the tables; never used twice in a tenant
	Generation      int   // names the chunk table too, which another embedding model makes anew
	Name            string
	Dimension       int
	Metric          Metric
	VectorType      VectorType
	Config          Config
	MetadataIndexes []string       // fields of the metadata with Postgres indexes of their own
	EmbeddingModel  string         // provider/model; empty: ready-made vectors only
	Chunking        chunk.Settings // defaults of uploads
	TextLanguage    string         // text search configuration of PostgreSQL
	Graph           Graph
	// Built says that the Postgres index over the embeddings is there. Until it
	// is, every search is exact.
	Built     bool
	Building  bool  // a job to build it is queued or runs
	Next      *Next // the generation with other embeddings that is being made, if any
	CreatedAt time.Time
	UpdatedAt time.Time

	measuredWidth int // see SearchWidth; 0 until it has been measured
}

// Next is what the next generation of an index's chunks has.
type Next struct {
	JobID          string
	EmbeddingModel string
	Dimension      int
	VectorType     VectorType
}

// Status is ready, or building while the Postgres index over the embeddings is
// being made.
func (i Index) Status() string {
	if i.Building {
		return "building"
	}
	return "ready"
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
	Name            string
	Dimension       int
	Metric          Metric
	VectorType      VectorType
	Config          Config
	MetadataIndexes []string
	EmbeddingModel  string
	Chunking        chunk.Settings
	TextLanguage    string
	Graph           Graph
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
	widest := MaxDimension
	if s.VectorType == Bit {
		widest = MaxBits
	}
	if s.Dimension < 0 || s.Dimension > widest {
		return fault.Field("dimension", "must be between 1 and %d, got %d", widest, s.Dimension)
	}
	if _, ok := metrics[s.Metric]; !ok && s.Metric != "" {
		return fault.Field("metric", "unknown metric %q; known are cosine, euclidean and dotproduct, and for bits hamming and jaccard", s.Metric)
	}
	if err := checkMetadataIndexes(s.MetadataIndexes); err != nil {
		return err
	}
	if s.TextLanguage == "" {
		s.TextLanguage = "english"
	}
	if !languagePattern.MatchString(s.TextLanguage) {
		return fault.Field("textLanguage", "must name a text search configuration such as english or simple")
	}
	if err := s.Graph.check(); err != nil {
		return err
	}
	return s.Config.check()
}

// checkMetadataIndexes refuses names that cannot be a field's.
func checkMetadataIndexes(fields []string) error {
	if len(fields) > maxMetadataIndexes {
		return fault.Field("metadataIndexes", "must be at most %d fields, got %d", maxMetadataIndexes, len(fields))
	}
	for n, field := range fields {
		if field == "" || len(field) > filter.MaxNameBytes || !utf8.ValidString(field) || strings.ContainsRune(field, 0) {
			return fault.Field("metadataIndexes", "field %d must be 1 to %d bytes of UTF-8 without null characters", n, filter.MaxNameBytes)
		}
		if slices.Contains(fields[:n], field) {
			return fault.Field("metadataIndexes", "names the field %q twice", field)
		}
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
	note("vectorType", i.VectorType, s.VectorType)
	note("indexConfig", i.Config, s.Config)
	note("metadataIndexes", i.MetadataIndexes, s.MetadataIndexes)
	note("embeddingModel", i.EmbeddingModel, s.EmbeddingModel)
	note("chunking", i.Chunking, s.Chunking)
	note("textLanguage", i.TextLanguage, s.TextLanguage)
	note("graph", i.Graph.String(), s.Graph.String())
	return out
}
