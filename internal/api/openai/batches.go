package openai

import (
	"context"
	"net/http"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// maxBatchFiles is how many files one request may put into a vector store.
	maxBatchFiles = 500
	// maxBatches is how many batches of a tenant are kept: the newest.
	maxBatches = 1000
)

// batch is a file batch as callers see it.
type batch struct {
	ID            string     `json:"id"`
	Object        string     `json:"object"`
	CreatedAt     int64      `json:"created_at"`
	VectorStoreID string     `json:"vector_store_id"`
	Status        string     `json:"status"`
	FileCounts    fileCounts `json:"file_counts"`
}

type batchRequest struct {
	FileIDs          []string          `json:"file_ids"`
	Files            []addFileRequest  `json:"files"`
	Attributes       map[string]any    `json:"attributes"`
	ChunkingStrategy *chunkingStrategy `json:"chunking_strategy"`
}

// createBatch implements POST /v1/vector_stores/{store}/file_batches.
func (h *Handler) createBatch(ctx context.Context, r *http.Request, in *batchRequest) (*batch, error) {
	db, indexName, err := h.toChange(ctx, r)
	if err != nil {
		return nil, err
	}
	files, err := h.filesOfBatch(ctx, db, in)
	if err != nil {
		return nil, err
	}
	made := fileBatch{BatchID: newID(batchPrefix), IndexName: indexName}
	for _, f := range files {
		made.FileIDs = append(made.FileIDs, f.FileID)
	}
	refused, err := h.attachAll(ctx, db, indexName, files)
	if err != nil {
		return nil, err
	}
	made.Errors = make(map[string]fileError, len(refused))
	for id, why := range refused {
		made.Errors[id] = errorOf(why)
	}
	if made, err = insertBatch(ctx, db, made); err != nil {
		return nil, err
	}
	return h.batchObject(ctx, db, made)
}

func (h *Handler) filesOfBatch(ctx context.Context, db *data.Handle, in *batchRequest) ([]addition, error) {
	n := len(in.FileIDs) + len(in.Files)
	switch {
	case len(in.FileIDs) > 0 && len(in.Files) > 0:
		return nil, fault.Field("files", "and file_ids exclude each other")
	case n == 0 || n > maxBatchFiles:
		return nil, fault.Field("file_ids", "must be 1 to %d files, got %d", maxBatchFiles, n)
	case len(in.FileIDs) > 0:
		return h.filesToAdd(ctx, db, in.FileIDs, in.Attributes, in.ChunkingStrategy)
	}
	all := make([]addition, n)
	for i, f := range in.Files {
		var err error
		if all[i], err = h.additionOf(ctx, db, "files", f.FileID, f.Attributes, f.ChunkingStrategy); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// urisOf returns the uris of the documents of a batch, and what is kept of its files, by id.
func urisOf(ctx context.Context, q data.Queryer, b fileBatch) ([]string, map[string]attached, error) {
	known, err := attachedFiles(ctx, q, b.IndexName, b.FileIDs)
	uris := []string{}
	for id, a := range known {
		uris = append(uris, uriOf(id, a.FileName))
	}
	return uris, known, err
}

// batchObject counts the files of a batch. One that was removed from the store since counts as
// cancelled.
func (h *Handler) batchObject(ctx context.Context, db *data.Handle, b fileBatch) (*batch, error) {
	uris, known, err := urisOf(ctx, db, b)
	if err != nil {
		return nil, err
	}
	found, _, _, err := h.config.Documents.Documents(ctx, ingest.Listing{IndexName: b.IndexName, Namespace: index.DefaultNamespace, URIs: uris, PageSize: 1000})
	if err != nil {
		return nil, unknownStore(b.IndexName, err)
	}
	out := &batch{ID: b.BatchID, Object: "vector_store.files_batch", CreatedAt: b.CreatedAt.Unix(), VectorStoreID: storePrefix + b.IndexName, Status: completed}
	states := map[string]string{}
	for _, d := range found {
		f := storeFileOf(b.IndexName, d, known)
		states[f.ID] = f.Status
	}
	for _, id := range b.FileIDs {
		state, ok := states[id]
		if _, refused := b.Errors[id]; refused {
			state = failed
		} else if !ok {
			state = cancelled
		}
		out.FileCounts.count(state)
	}
	switch {
	case b.Cancelled:
		out.Status = cancelled
	case out.FileCounts.InProgress > 0:
		out.Status = inProgress
	case out.FileCounts.Failed == out.FileCounts.Total:
		out.Status = failed
	}
	return out, nil
}

// batchFor returns the batch that a request is about.
func (h *Handler) batchFor(ctx context.Context, r *http.Request, need access.Scope) (*data.Handle, fileBatch, error) {
	db, indexName, err := h.storeOf(ctx, r, need)
	if err != nil {
		return nil, fileBatch{}, err
	}
	b, err := getBatch(ctx, db, indexName, r.PathValue("batch"))
	return db, b, err
}

// getBatch implements GET /v1/vector_stores/{store}/file_batches/{batch}.
func (h *Handler) getBatch(ctx context.Context, r *http.Request) (*batch, error) {
	db, b, err := h.batchFor(ctx, r, access.Read)
	if err != nil {
		return nil, err
	}
	return h.batchObject(ctx, db, b)
}

// cancelBatch implements POST /v1/vector_stores/{store}/file_batches/{batch}/cancel: files that are
// not processed yet leave the store.
func (h *Handler) cancelBatch(ctx context.Context, r *http.Request) (*batch, error) {
	db, b, err := h.batchFor(ctx, r, access.Write)
	if err != nil {
		return nil, err
	}
	uris, _, err := urisOf(ctx, db, b)
	if err != nil {
		return nil, err
	}
	var unfinished []string
	for _, state := range documentStates[inProgress] {
		found, _, _, err := h.config.Documents.Documents(ctx, ingest.Listing{
			IndexName: b.IndexName, Namespace: index.DefaultNamespace, URIs: uris, Status: state, PageSize: 1000,
		})
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			unfinished = append(unfinished, d.DocumentID)
		}
	}
	if len(unfinished) == 0 {
		return h.batchObject(ctx, db, b)
	}
	if _, err := h.config.Documents.DeleteSelected(ctx, ingest.Selection{IndexName: b.IndexName, DocumentIDs: unfinished}); err != nil {
		return nil, err
	}
	b.Cancelled = true
	if err := cancelBatch(ctx, db, b.BatchID); err != nil {
		return nil, err
	}
	return h.batchObject(ctx, db, b)
}

// listBatchFiles implements GET /v1/vector_stores/{store}/file_batches/{batch}/files.
func (h *Handler) listBatchFiles(ctx context.Context, r *http.Request) (*list[*storeFile], error) {
	db, b, err := h.batchFor(ctx, r, access.Read)
	if err != nil {
		return nil, err
	}
	uris, _, err := urisOf(ctx, db, b)
	if err != nil {
		return nil, err
	}
	return h.storeFiles(ctx, r, db, b.IndexName, uris, b.FileIDs)
}
