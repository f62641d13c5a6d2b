package index

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/index/wording"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// Limits of an index.
const (
	// DefaultMaxIndexes is how many indexes a tenant may have by default.
	DefaultMaxIndexes = 200
	// MaxDimension is the widest vector that pgvector stores.
	MaxDimension = 16_000
	// MaxBits is the widest bit vector that pgvector indexes.
	MaxBits = 64_000
	// maxMetadataIndexes is how many metadata fields may have Postgres indexes. Each field
	// has two, which every write updates.
	maxMetadataIndexes = 16
)

// DefaultNamespace is the namespace of documents and vectors that name none.
const DefaultNamespace = "default"

const maxNamespaceBytes = 255

// Namespace returns the given namespace, DefaultNamespace if it is empty. Errors:
// Invalid if it is too long, not UTF-8, or has a null character.
func Namespace(given string) (string, error) {
	if err := textlimit.Check("namespace", given, maxNamespaceBytes); err != nil {
		return "", err
	}
	return cmp.Or(given, DefaultNamespace), nil
}

// Metric is the distance between two embeddings.
type Metric string

// The metrics.
const (
	Cosine     Metric = "cosine"
	Euclidean  Metric = "euclidean"
	DotProduct Metric = "dotproduct"
	Hamming    Metric = "hamming" // of bits
	Jaccard    Metric = "jaccard" // of bits
)

// Index is a named set of documents of a tenant with common settings.
type Index struct {
	ID              int64 // part of the names of its tables; never used twice in a tenant
	Generation      int   // of the chunk table, part of its name; another embedding model starts a new one
	Name            string
	Dimension       int
	Metric          Metric
	VectorType      VectorType
	Config          Config
	MetadataIndexes []string          // fields of the metadata with Postgres indexes of their own
	EmbeddingModel  string            // endpoint/model; empty: ready-made vectors only
	Chunking        chunk.Settings    // defaults of uploads
	Extract         *extract.Settings // default of uploads; nil: nothing is extracted
	TextLanguage    string            // auto, one that package analyzer knows, or a text search configuration of PostgreSQL
	analysis        *int              // version of the analyzer that made the terms of all chunks; 0: PostgreSQL's parser made those of some; nil: not known
	embeddedForm    *int              // version of what is embedded of a chunk; 0: unknown of some; nil: not known
	Languages       []string          // of the documents, for the text language auto
	MetadataSchema  json.RawMessage   // JSON Schema of the metadata of uploads; nil: any
	metadataSchema  *schema.Schema    // of MetadataSchema
	Graph           Graph
	// Built reports whether the Postgres index over the embeddings exists. Until then
	// every search is exact.
	Built     bool
	Building  bool  // a job to build it is queued or runs
	Next      *Next // the generation with other embeddings that is being built; nil if none
	CreatedAt time.Time
	UpdatedAt time.Time

	// OldEmbeddings: some were made by an earlier version from less of a chunk than would be embedded now. Only
	// Service.Describe tells.
	OldEmbeddings bool

	// RecordsQuestions: embeddings of questions are recorded, to measure the search width.
	RecordsQuestions bool

	// RecallTarget is the fraction of the nearest chunks that index scans find, with confidence, over recorded questions or
	// over questions made from the index's own vectors.
	RecallTarget float64

	tunings      tunings
	profiles     profiles
	synonyms     *wording.Synonyms  // nil for none
	curations    *wording.Curations // nil for none
	measured     Measurement        // of the search width
	termsCounted bool               // its common terms have been counted into a table
}

// Next describes the next generation of the chunks of an index.
type Next struct {
	JobID          string
	EmbeddingModel string
	Dimension      int
	VectorType     VectorType
}

// Status returns building while the Postgres index over the embeddings is being
// built, else ready.
func (i Index) Status() string {
	if i.Building {
		return "building"
	}
	return "ready"
}

// Model returns the embedding model of a tenant's index. Errors: Precondition or Invalid
// when its endpoint no longer exists.
func (i Index) Model(ctx context.Context, models *embed.Registry, id tenant.ID) (*embed.Model, error) {
	model, err := models.Stored(ctx, string(id), i.EmbeddingModel)
	if err != nil {
		return nil, err
	}
	return model.WithDimension(i.Dimension)
}

// BuiltinModel reports whether the model of the index runs in this process.
func (i Index) BuiltinModel() bool { return strings.HasPrefix(i.EmbeddingModel, "builtin/") }

// Counts are the numbers of chunks and documents of an index.
type Counts struct {
	Chunks           int64
	ReadyDocuments   int64
	PendingDocuments int64
	FailedDocuments  int64
}

// Spec holds the settings of an index to create. Zero values mean the defaults.
type Spec struct {
	Name            string
	Dimension       int
	Metric          Metric
	VectorType      VectorType
	Config          Config
	MetadataIndexes []string
	EmbeddingModel  string
	Chunking        chunk.Settings
	Extract         *extract.Settings // nil for nothing
	MetadataSchema  json.RawMessage   // JSON Schema of the metadata of uploads; nil: any
	TextLanguage    string
	Graph           Graph
	RecallTarget    float64
}

var (
	namePattern     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)
	errName         = fault.Field("indexName", "must be 1 to 63 characters of letters, digits, _ and -, the first a letter or _")
	languagePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
)

// check validates the spec and fills in the defaults that need no query. Errors:
// Invalid.
func (s *Spec) check() error {
	if !namePattern.MatchString(s.Name) && s.Name != access.MemoryIndex {
		return errName
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
		s.TextLanguage = analyzer.Auto
	}
	if !languagePattern.MatchString(s.TextLanguage) {
		return fault.Field("textLanguage", "must be auto, simple or the name of a language such as english")
	}
	if err := s.Graph.check(); err != nil {
		return err
	}
	s.RecallTarget = cmp.Or(s.RecallTarget, DefaultRecallTarget)
	if err := CheckRecallTarget(s.RecallTarget); err != nil {
		return err
	}
	return s.Config.check()
}

// checkMetadataIndexes validates the names of fields. Errors: Invalid.
func checkMetadataIndexes(fields []string) error {
	if len(fields) > maxMetadataIndexes {
		return fault.Field("metadataIndexes", "must be at most %d fields, got %d", maxMetadataIndexes, len(fields))
	}
	for n, field := range fields {
		if field == "" || len(field) > filter.MaxNameBytes || !textlimit.IsStorable(field) {
			return fault.Field("metadataIndexes", "field %d must be 1 to %d bytes of UTF-8 without null characters", n, filter.MaxNameBytes)
		}
		if slices.Contains(fields[:n], field) {
			return fault.Field("metadataIndexes", "names the field %q twice", field)
		}
	}
	return nil
}

// extractText returns extraction settings as JSON, for messages; "null" for none.
func extractText(s *extract.Settings) string {
	raw, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// schemaText returns a JSON Schema in the form that equal ones share, for messages; "null" for none.
func schemaText(raw json.RawMessage) string {
	var value any
	if removes(raw) || json.Unmarshal(raw, &value) != nil {
		return "null"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "null"
	}
	return string(text)
}

// differences describes the settings of an index that differ from a spec, with both
// values.
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
	note("extract", extractText(i.Extract), extractText(s.Extract))
	note("metadataSchema", schemaText(i.MetadataSchema), schemaText(s.MetadataSchema))
	note("textLanguage", i.TextLanguage, s.TextLanguage)
	note("graph", i.Graph.String(), s.Graph.String())
	note(recallTargetField, i.RecallTarget, s.RecallTarget)
	return out
}
