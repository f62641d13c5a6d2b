package index

import (
	"context"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// reembedding returns the error of a change that would be lost in the next generation.
func (i Index) reembedding() error {
	return fault.New(fault.Precondition, "index %q is being embedded with %s: wait for job %s or cancel it", i.Name, i.Next.EmbeddingModel, i.Next.JobID)
}

// newModel is the embedding model that a change names, with its dimension.
type newModel struct {
	name      string
	dimension int
}

// newModel returns the model that a change names; nil if it names none. It may call the
// provider of the model. Errors: Invalid.
func (s *Service) newModel(ctx context.Context, id tenant.ID, i Index, c Change) (*newModel, error) {
	if c.EmbeddingModel == nil {
		if c.Dimension != 0 {
			return nil, fault.Field("dimension", "changes only with embeddingModel")
		}
		return nil, nil
	}
	if i.EmbeddingModel == "" {
		return nil, fault.Field("embeddingModel", "index %q is one of ready-made vectors", i.Name)
	}
	spec := Spec{EmbeddingModel: *c.EmbeddingModel, Dimension: c.Dimension}
	if err := s.completeDimension(ctx, id, &spec); err != nil {
		return nil, err
	}
	return &newModel{spec.EmbeddingModel, spec.Dimension}, nil
}

// next returns the generation that a change to a model requests; nil if the model is nil, or that of the next
// generation, or the current model, unless its embeddings may have been made from less than they would be now. Errors: Invalid, Precondition while
// the index is embedded with another model.
func (i Index) next(model *newModel) (*Next, error) {
	if model == nil {
		return nil, nil
	}
	spec := Spec{EmbeddingModel: model.name, Dimension: model.dimension, Metric: i.Metric, VectorType: i.VectorType, Config: i.Config}
	if spec.checkTypes() != nil { // the dimension may be too large for the current type
		spec.VectorType = ""
		if err := spec.checkTypes(); err != nil {
			return nil, err
		}
	}
	next := &Next{EmbeddingModel: spec.EmbeddingModel, Dimension: spec.Dimension, VectorType: spec.VectorType}
	switch {
	case i.Next == nil:
		if next.EmbeddingModel == i.EmbeddingModel && next.Dimension == i.Dimension && !i.embeddedEarlier() {
			return nil, nil
		}
		return next, nil
	case i.Next.EmbeddingModel == next.EmbeddingModel && i.Next.Dimension == next.Dimension:
		return nil, nil
	}
	return nil, i.reembedding()
}

// startReembed queues the job that makes the next generation. Errors: Precondition
// for an index with ready-made vectors, or one whose last change of the model is being
// completed.
func (s *Service) startReembed(ctx context.Context, tx *data.Tx, i Index, next Next) error {
	next.JobID = uuid.Must(uuid.NewV7()).String()
	if err := refuseReadyMade(ctx, tx.OfIndex(i.ID, i.Generation)); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `
		UPDATE tenant.indexes SET reembed_job_id = $2, next_model = $3, next_dimension = $4, next_vector_type = $5
		WHERE index_id = $1 AND reembed_job_id IS NULL`,
		i.ID, next.JobID, next.EmbeddingModel, next.Dimension, next.VectorType)
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.Precondition, "index %q has just got another embedding model, which is being completed: try again in a moment", i.Name)
	}
	start := job.Start{JobID: next.JobID, Kind: job.Reembed, IndexName: i.Name, Unit: "documents"}
	if err := job.Insert(ctx, tx, start); err != nil {
		return err
	}
	return s.queue.Enqueue(ctx, tx, job.Reembed, i.ID, next.JobID)
}

// cancelReembed cancels a job before its switch. The index stays unchanged. Errors:
// Precondition when it is too late.
func (s *Service) cancelReembed(ctx context.Context, id tenant.ID, j job.Job) error {
	h := s.db.Handle(id)
	found, err := data.Select[indexRow](ctx, h, `SELECT `+indexColumns+` FROM tenant.indexes AS i WHERE i.reembed_job_id = $1`, j.JobID)
	if err != nil {
		return err
	}
	for _, row := range found {
		defer s.known.forget(id, row.IndexName)
		// Dropping a table would wait for the end of a build on it.
		if err := stopBuild(ctx, h.OfIndex(row.IndexID, row.Generation+1)); err != nil {
			return err
		}
	}
	return h.Tx(ctx, func(tx *data.Tx) error {
		if err := abandon(ctx, tx, j.JobID); err != nil {
			return err
		}
		return job.Cancel(ctx, tx, j.JobID, job.CancelledOnRequest)
	})
}
