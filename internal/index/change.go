package index

import (
	"cmp"
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
	RecallTarget    *float64
	// RecordQuestions says whether questions are recorded; false deletes those that were.
	RecordQuestions *bool
}

// changed returns the index with its settings changed. Errors: Invalid.
func (i Index) changed(c Change) (Index, error) {
	if c.RecallTarget != nil { // 0 is no default here
		if err := CheckRecallTarget(*c.RecallTarget); err != nil {
			return i, err
		}
	}
	spec := Spec{
		Name: i.Name, Dimension: i.Dimension, Metric: i.Metric, VectorType: i.VectorType, EmbeddingModel: i.EmbeddingModel,
		Config:          *cmp.Or(c.Config, &i.Config),
		MetadataIndexes: *cmp.Or(c.MetadataIndexes, &i.MetadataIndexes),
		Chunking:        *cmp.Or(c.Chunking, &i.Chunking),
		TextLanguage:    i.TextLanguage,
		Graph:           *cmp.Or(c.Graph, &i.Graph),
		RecallTarget:    *cmp.Or(c.RecallTarget, &i.RecallTarget),
	}
	if err := spec.check(); err != nil {
		return i, err
	}
	if err := spec.checkChunking(); err != nil {
		return i, err
	}
	if err := spec.checkTypes(); err != nil {
		return i, err
	}
	i.Config, i.MetadataIndexes, i.Chunking, i.Graph = spec.Config, spec.MetadataIndexes, spec.Chunking, spec.Graph
	i.RecallTarget = spec.RecallTarget
	if c.Extract != nil {
		i.Extract = c.Extract
		if c.Extract.IsZero() {
			i.Extract = nil
		}
	}
	i.RecordsQuestions = *cmp.Or(c.RecordQuestions, &i.RecordsQuestions)
	return i, nil
}
