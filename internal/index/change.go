package index

import (
	"encoding/json"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/ingest/extract"
)

// Change holds the settings that Update changes. A nil setting stays unchanged.
type Change struct {
	EmbeddingModel  *string // starts a job that embeds the index again
	Dimension       int     // of the embedding model; 0: the model's own
	Config          *Config
	MetadataIndexes *[]string
	Chunking        *chunk.Settings   // of uploads from now on
	Extract         *extract.Settings // of uploads from now on; the zero Settings removes it
	MetadataSchema  *json.RawMessage  // of uploads from now on; an empty object removes it
	Graph           *Graph
	// RecordQuestions says whether questions are recorded; false deletes those that were.
	RecordQuestions *bool
}
