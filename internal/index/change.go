package index

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Change holds the settings that Update changes. A nil setting stays unchanged.
type Change struct {
	// ETag is that of the index as the caller knows it; empty for any.
	ETag string

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

// ETag returns the etag of the settings of the index. It does not change with its documents.
func (i Index) ETag() string { return catalog.ETag(i.Name, i.UpdatedAt) }

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

// update changes an index and starts the jobs that follow. It starts from the settings as
// the locked row has them, so that no concurrent change is lost.
func (s *Service) update(ctx context.Context, tx *data.Tx, name string, c Change, model *newModel) error {
	old, err := byNameLocked(ctx, tx, name)
	if err != nil {
		return err
	}
	if err := catalog.Expect("index", name, c.ETag, old.ETag()); err != nil {
		return err
	}
	changed, err := old.changed(c)
	if err != nil {
		return err
	}
	next, err := changed.next(model)
	if err != nil {
		return err
	}
	if old.Next != nil && (c.Config != nil || c.MetadataIndexes != nil) {
		return old.reembedding()
	}
	if err := storeSettings(ctx, tx, changed); err != nil {
		return err
	}
	if c.MetadataSchema != nil {
		if err := storeMetadataSchema(ctx, tx, changed.ID, *c.MetadataSchema); err != nil {
			return err
		}
	}
	if changed.RecallTarget != old.RecallTarget {
		if err := storeRecallTarget(ctx, tx, changed.ID, changed.RecallTarget); err != nil {
			return err
		}
		if err := MaintainIfDue(ctx, s.queue, tx, changed.ID); err != nil {
			return err
		}
	}
	return s.startJobs(ctx, tx, old, changed, next)
}

// startJobs starts the jobs that a change of an index needs.
func (s *Service) startJobs(ctx context.Context, tx *data.Tx, old, changed Index, next *Next) error {
	if changed.Graph.String() != old.Graph.String() {
		if err := s.queue.Start(ctx, tx, job.Graph, old.ID); err != nil {
			return err
		}
	}
	if changed.Config != old.Config && (old.Built || changed.Config.Type == Flat) {
		if _, err := s.startBuild(ctx, tx, changed); err != nil {
			return err
		}
	}
	if changed.Config != old.Config { // endBuild starts Link again after the build
		if err := s.queue.Start(ctx, tx, job.Link, old.ID); err != nil {
			return err
		}
	}
	if next == nil {
		return nil
	}
	return s.startReembed(ctx, tx, changed, *next)
}
