package rpc

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/vector"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// Upsert implements VectorService.
func (h *Handlers) Upsert(ctx context.Context, req *ragdv1.UpsertRequest) (*ragdv1.UpsertResponse, error) {
	entries := make([]vector.Entry, len(req.GetEntries()))
	for n, e := range req.GetEntries() {
		entries[n] = vector.Entry{ID: e.GetId(), Values: e.GetValues(), Metadata: e.GetMetadata().AsMap(), Document: e.GetDocument()}
		entries[n].Sparse = sparseOf(e.GetSparseValues())
	}
	replaced, err := selectionOf(nil, req.GetDeleteFilter(), req.GetNamespace())
	if err != nil {
		return nil, fault.Rename("filter", "deleteFilter", err)
	}
	ids, err := h.Vectors.Upsert(ctx, req.GetIndexName(), entries, replaced)
	if err != nil {
		return nil, err
	}
	return &ragdv1.UpsertResponse{Ids: ids}, nil
}

// sparseOf converts a sparse vector; nil stays nil.
func sparseOf(v *ragdv1.SparseVector) *index.Sparse {
	if v == nil {
		return nil
	}
	return &index.Sparse{Indices: v.GetIndices(), Values: v.GetValues()}
}

// selectionOf converts the ids, filter and namespace that select vectors.
func selectionOf(ids []string, given *structpb.Value, namespace string) (vector.Selection, error) {
	s := vector.Selection{IDs: ids, Namespace: namespace}
	value := given.AsInterface()
	if value == nil {
		return s, nil
	}
	var err error
	s.FilterGiven = true
	s.Filter, err = filter.Parse(value)
	return s, err
}

// Query implements VectorService.
func (h *Handlers) Query(ctx context.Context, req *ragdv1.QueryRequest) (*ragdv1.QueryResponse, error) {
	f, err := filter.Parse(req.GetFilter().AsInterface())
	if err != nil {
		return nil, err
	}
	found, err := h.Queries.Nearest(ctx, query.Request{
		Question: query.Question{
			QueryVector: req.GetQueryVector(), IndexName: req.GetIndexName(), VectorStoreName: req.GetVectorStoreName(),
			Namespace: req.GetNamespace(), TopK: intOf(req.TopK), Filter: f, IncludeVectors: &req.IncludeVector,
			Explain: req.GetExplain(), MinScore: req.MinScore, RecallTarget: req.RecallTarget,
			Freshness: freshnessOf(req),
		},
		SparseVector:   sparseOf(req.GetSparseVector()),
		DatabaseConfig: databaseConfigOf(req.GetDatabaseConfig()),
	})
	if err != nil {
		return nil, err
	}
	codecSlotOf(ctx).answers(found.Sources)
	results, err := convertLarge(ctx, h.Processor, found.Sources, new(objectReader).resultMessage)
	return &ragdv1.QueryResponse{Results: results, Warnings: found.Warnings, Explain: explainMessage(found.Explain, nil)}, err
}

// resultMessage converts a result, whose metadata r parses.
func (r *objectReader) resultMessage(s query.Source) (*ragdv1.QueryResult, error) {
	metadata, err := r.read(s.Metadata)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of entry %s: %w", s.ID, err)
	}
	return &ragdv1.QueryResult{Id: s.ID, Score: s.Score, Metadata: metadata, Vector: s.Vector, Document: s.Text}, nil
}

// Update implements VectorService.
func (h *Handlers) Update(ctx context.Context, req *ragdv1.UpdateRequest) (*ragdv1.UpdateResponse, error) {
	var ids []string
	if req.GetId() != "" {
		ids = []string{req.GetId()}
	}
	which, err := selectionOf(ids, req.GetFilter(), req.GetNamespace())
	if err != nil {
		return nil, err
	}
	change := vector.Change{Values: req.GetValues(), Sparse: sparseOf(req.GetSparseValues())}
	if m := req.GetMetadata(); m != nil {
		change.Metadata = m.AsMap()
	}
	n, err := h.Vectors.Update(ctx, req.GetIndexName(), which, change)
	return &ragdv1.UpdateResponse{UpdatedCount: int32(n)}, err
}

// Delete implements VectorService.
func (h *Handlers) Delete(ctx context.Context, req *ragdv1.DeleteRequest) (*ragdv1.DeleteResponse, error) {
	which, err := selectionOf(req.GetIds(), req.GetFilter(), req.GetNamespace())
	if err != nil {
		return nil, err
	}
	n, err := h.Vectors.Delete(ctx, req.GetIndexName(), which)
	return &ragdv1.DeleteResponse{DeletedCount: int32(n)}, err
}
