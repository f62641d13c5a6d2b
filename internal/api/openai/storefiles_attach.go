package openai

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// addition is a file to put into a vector store.
type addition struct {
	file
	attributes map[string]any
	chunking   chunkingStrategy
	settings   chunk.Settings
}

func (h *Handler) additionOf(ctx context.Context, db *data.Handle, field, id string, attributes map[string]any, chunking *chunkingStrategy) (addition, error) {
	var a addition
	var err error
	if a.attributes, err = checkAttributes(attributes); err != nil {
		return a, err
	}
	if a.settings, err = chunking.settings(); err != nil {
		return a, err
	}
	a.chunking = chunkingStrategy{Type: "other"}
	if !a.settings.IsZero() {
		a.chunking = *chunking
	}
	a.file, err = getFile(ctx, db, field, id)
	return a, err
}

// filesToAdd returns the files with the ids. Errors: NotFound; Invalid for too many.
func (h *Handler) filesToAdd(ctx context.Context, db *data.Handle, ids []string, attributes map[string]any, chunking *chunkingStrategy) ([]addition, error) {
	if len(ids) > maxBatchFiles {
		return nil, fault.Field("file_ids", "has %d files, but may have %d", len(ids), maxBatchFiles)
	}
	all := make([]addition, len(ids))
	for i, id := range ids {
		var err error
		if all[i], err = h.additionOf(ctx, db, fmt.Sprintf("file_ids.%d", i), id, attributes, chunking); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// attachAll puts files into a vector store, which processes them afterwards, and returns the errors of
// those that it does not accept, by id. These become files that have failed, as callers expect who wait
// for them, unless the store has a document of them already, which it keeps.
func (h *Handler) attachAll(ctx context.Context, db *data.Handle, indexName string, files []addition) (map[string]error, error) {
	stream, err := h.config.Documents.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	for _, f := range files {
		if err := putAttached(ctx, db, f.in(indexName)); err != nil {
			return nil, err
		}
		if err := sendFile(ctx, db, stream, indexName, f); err != nil {
			return nil, err
		}
	}
	results, err := stream.End(ctx)
	if err != nil {
		return nil, err
	}
	if err := keepAttached(ctx, db, indexName, files); err != nil {
		return nil, err
	}
	refused, uris := map[string]error{}, []string{}
	for _, r := range results {
		if r.Err != nil {
			refused[fileOf(r.URI)] = r.Err
			uris = append(uris, r.URI)
		}
	}
	if len(refused) == 0 {
		return refused, nil
	}
	kept, _, _, err := h.config.Documents.Documents(ctx, ingest.Listing{IndexName: indexName, Namespace: index.DefaultNamespace, URIs: uris, PageSize: maxBatchFiles})
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		why, ok := refused[f.FileID]
		if !ok || slices.ContainsFunc(kept, func(d ingest.Document) bool { return d.URI == uriOf(f.FileID, f.FileName) }) {
			continue
		}
		a := f.in(indexName)
		a.Refused = &refusal{errorOf(why), f.attributes}
		if err := putAttached(ctx, db, a); err != nil {
			return nil, err
		}
	}
	return refused, nil
}

// keepAttached stores again what is kept of files in an index and was deleted with earlier documents
// of them since.
func keepAttached(ctx context.Context, db *data.Handle, indexName string, files []addition) error {
	ids := make([]string, len(files))
	for i, f := range files {
		ids[i] = f.FileID
	}
	known, err := attachedFiles(ctx, db, indexName, ids)
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, ok := known[f.FileID]; !ok {
			if err := putAttached(ctx, db, f.in(indexName)); err != nil {
				return err
			}
		}
	}
	return nil
}

// in returns what is kept of the file in an index.
func (f addition) in(indexName string) attached {
	return attached{IndexName: indexName, FileID: f.FileID, FileName: f.FileName, Chunking: f.chunking}
}

// sendFile sends the content of a file to a stream of uploads. Errors: NotFound if it is deleted meanwhile.
func sendFile(ctx context.Context, db *data.Handle, stream *ingest.Stream, indexName string, f addition) error {
	for segment, sent := 0, int64(0); sent < f.ByteSize; segment++ {
		content, err := readFile(ctx, db, f.FileID, segment)
		switch {
		case err != nil:
			return err
		case content == nil:
			return notFound("", "file", f.FileID)
		case segment == 0:
			err = stream.Begin(ctx, ingest.Upload{
				IndexName: indexName, URI: uriOf(f.FileID, f.FileName), Content: content, Metadata: f.attributes, Chunking: f.settings,
			})
		default:
			err = stream.Append(content)
		}
		if err != nil {
			return err
		}
		sent += int64(len(content))
	}
	return nil
}

type addFileRequest struct {
	FileID           string            `json:"file_id"`
	Attributes       map[string]any    `json:"attributes"`
	ChunkingStrategy *chunkingStrategy `json:"chunking_strategy"`
}

// addFile implements POST /v1/vector_stores/{store}/files.
func (h *Handler) addFile(ctx context.Context, r *http.Request, in *addFileRequest) (*storeFile, error) {
	db, indexName, err := h.toChange(ctx, r)
	if err != nil {
		return nil, err
	}
	if in.FileID == "" {
		return nil, fault.Field("file_id", "is missing: upload a file with POST /v1/files first")
	}
	f, err := h.additionOf(ctx, db, "file_id", in.FileID, in.Attributes, in.ChunkingStrategy)
	if err != nil {
		return nil, err
	}
	return h.attach(ctx, db, indexName, f)
}

// toChange returns a handle of the caller's tenant and the index of the vector store that the request
// adds to. Errors: NotFound if there is none.
func (h *Handler) toChange(ctx context.Context, r *http.Request) (*data.Handle, string, error) {
	db, indexName, err := h.storeOf(ctx, r, access.Write)
	if err != nil {
		return nil, "", err
	}
	_, err = h.describe(ctx, db, indexName)
	return db, indexName, err
}

// attach puts a file into a vector store. Errors: those of the store, if it does not accept the file now,
// but might later, or if it keeps the document that it has.
func (h *Handler) attach(ctx context.Context, db *data.Handle, indexName string, f addition) (*storeFile, error) {
	refused, err := h.attachAll(ctx, db, indexName, []addition{f})
	if err != nil {
		return nil, err
	}
	stored, err := h.storeFile(ctx, db, indexName, f.FileID)
	why := refused[f.FileID]
	switch {
	case why == nil || err != nil:
		return stored, err
	case stored.refused && fault.Permanent(why):
		return stored, nil
	case stored.refused:
		return nil, cmp.Or(deleteAttached(ctx, db, indexName, f.FileID), why)
	}
	return nil, why
}
