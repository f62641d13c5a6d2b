package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// States of a file in a vector store, and of a batch.
const (
	inProgress = "in_progress"
	completed  = "completed"
	failed     = "failed"
	cancelled  = "cancelled"
)

// Limits of static chunking, in tokens.
const (
	minChunkTokens = 100
	maxChunkTokens = 4096
)

// maxReadBytes limits the text of a file in one answer.
const maxReadBytes = 16 << 20

// chunkingStrategy says how a file is cut into chunks. Auto, the default, is the chunking of the index.
type chunkingStrategy struct {
	Type   string          `json:"type"`
	Static *staticChunking `json:"static,omitempty"`
}

type staticChunking struct {
	MaxChunkSizeTokens int `json:"max_chunk_size_tokens"`
	ChunkOverlapTokens int `json:"chunk_overlap_tokens"`
}

// settings returns the settings of an upload, empty for those of the index.
func (c *chunkingStrategy) settings() (chunk.Settings, error) {
	const field = "chunking_strategy"
	switch {
	case c == nil || c.Type == "auto" && c.Static == nil || c.Type == "other":
		return chunk.Settings{}, nil
	case c.Type != "static":
		return chunk.Settings{}, fault.Field(field+".type", "must be auto or static, got %q", shorten(c.Type))
	case c.Static == nil:
		return chunk.Settings{}, fault.Field(field+".static", "is missing: set max_chunk_size_tokens and chunk_overlap_tokens")
	case c.Static.MaxChunkSizeTokens < minChunkTokens || c.Static.MaxChunkSizeTokens > maxChunkTokens:
		return chunk.Settings{}, fault.Field(field+".static.max_chunk_size_tokens", "must be %d to %d, got %d", minChunkTokens, maxChunkTokens, c.Static.MaxChunkSizeTokens)
	case c.Static.ChunkOverlapTokens < 0 || c.Static.ChunkOverlapTokens > c.Static.MaxChunkSizeTokens/2:
		return chunk.Settings{}, fault.Field(field+".static.chunk_overlap_tokens", "must be 0 to half of max_chunk_size_tokens, got %d", c.Static.ChunkOverlapTokens)
	}
	return chunk.Settings{Strategy: chunk.Token, MaxSize: &c.Static.MaxChunkSizeTokens, Overlap: &c.Static.ChunkOverlapTokens}, nil
}

// fileError says why a file could not be processed.
type fileError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// errorOf returns err as the last error of a file.
func errorOf(err error) fileError {
	switch fault.KindOf(err) {
	case fault.Invalid, fault.Precondition:
		return fileError{"invalid_file", fault.Public(err)}
	case fault.Exhausted:
		return fileError{"rate_limit_exceeded", fault.Public(err)}
	}
	return fileError{"server_error", fault.Public(err)}
}

// storeFile is a file of a vector store as callers see it.
type storeFile struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	UsageBytes       int64             `json:"usage_bytes"`
	CreatedAt        int64             `json:"created_at"`
	VectorStoreID    string            `json:"vector_store_id"`
	Status           string            `json:"status"`
	LastError        *fileError        `json:"last_error"`
	ChunkingStrategy *chunkingStrategy `json:"chunking_strategy"`
	Attributes       map[string]any    `json:"attributes"`

	refused bool // there is no document
}

// uriOf returns the uri of the document that is made from a file. It ends with the file's name, by
// which its format is recognized.
func uriOf(fileID, fileName string) string { return fileID + "/" + fileName }

// fileOf returns the id of the file that a document with this uri was made from, if it is one.
func fileOf(uri string) string {
	id, _, _ := strings.Cut(uri, "/")
	return id
}

// fileIDOf returns the id of a document as a file: that of the file it was made from, if it is known to
// be one, else one made from its own. known has what is kept of such files, by id.
func fileIDOf(uri, documentID string, known map[string]attached) string {
	if a, ok := known[fileOf(uri)]; ok && uri == uriOf(a.FileID, a.FileName) {
		return a.FileID
	}
	return filePrefix + documentID
}

// isFileID reports whether an id is that of a file, and not of a document.
func isFileID(id string) bool {
	rest, ok := strings.CutPrefix(id, filePrefix)
	return ok && len(rest) == len(newID("")) && !strings.Contains(rest, "-")
}

// refOf returns the document of a file of a vector store. Errors: NotFound.
func refOf(ctx context.Context, q data.Queryer, field, indexName, id string) (*ingest.Ref, error) {
	if documentID, ok := strings.CutPrefix(id, filePrefix); ok && documentID != "" && !isFileID(id) {
		return &ingest.Ref{DocumentID: documentID}, nil
	}
	known, err := attachedFiles(ctx, q, indexName, []string{id})
	if err != nil {
		return nil, err
	}
	a, ok := known[id]
	if !ok {
		return nil, notFound(field, "file of this vector store", id)
	}
	return &ingest.Ref{URI: uriOf(id, a.FileName)}, nil
}

// storeFileOf returns a document as a file of a vector store. known has what is kept of the files that
// were put into the store, by id.
func storeFileOf(indexName string, d ingest.Document, known map[string]attached) *storeFile {
	f := &storeFile{
		ID: fileIDOf(d.URI, d.DocumentID, known), Object: "vector_store.file", UsageBytes: d.ByteSize, CreatedAt: d.CreatedAt.Unix(),
		VectorStoreID: storePrefix + indexName, Attributes: attributesOf(d.Metadata), ChunkingStrategy: &chunkingStrategy{Type: "other"},
	}
	if a, ok := known[f.ID]; ok {
		f.ChunkingStrategy = &a.Chunking
	}
	switch d.Status {
	case ingest.DocumentReady:
		f.Status = completed
	case ingest.DocumentFailed:
		f.Status, f.LastError = failed, &fileError{"invalid_file", d.Error}
	case ingest.DocumentNeedsOCR:
		f.Status, f.LastError = failed, &fileError{"unsupported_file", "the file consists of scanned pages, of which no text could be read"}
	case ingest.DocumentDeleting:
		f.Status = cancelled
	default:
		f.Status = inProgress
	}
	return f
}

// attributesOf returns the metadata of a document that can be attributes: texts, numbers, true and
// false.
func attributesOf(metadata map[string]any) map[string]any {
	attributes := map[string]any{}
	for key, value := range metadata {
		switch v := value.(type) {
		case string, bool, float64, int, int64:
			attributes[key] = v
		case json.Number:
			if n, err := v.Float64(); err == nil {
				attributes[key] = n
			}
		}
	}
	return attributes
}

// checkAttributes returns the metadata for attributes. Errors: Invalid.
func checkAttributes(attributes map[string]any) (map[string]any, error) {
	const field = "attributes"
	if len(attributes) > maxMetadata {
		return nil, fault.Field(field, "has %d entries, but may have %d", len(attributes), maxMetadata)
	}
	for key, value := range attributes {
		text := ""
		switch v := value.(type) {
		case string:
			text = v
		case bool:
		case float64:
			if math.IsInf(v, 0) {
				return nil, fault.Field(field, "the value of %q is too large", shorten(key))
			}
		default:
			return nil, fault.Field(field, "the value of %q must be a string, a number, true or false", shorten(key))
		}
		if err := checkEntry(field, key, text); err != nil {
			return nil, err
		}
		if strings.Contains(key, ".") || strings.HasPrefix(key, "$") {
			return nil, fault.Field(field, "the name %q has a dot or begins with $, by which filters could not name it", shorten(key))
		}
	}
	return attributes, nil
}

// refusedFile returns a file that a vector store did not accept.
func refusedFile(a attached) *storeFile {
	f := &storeFile{
		ID: a.FileID, Object: "vector_store.file", CreatedAt: a.CreatedAt.Unix(), VectorStoreID: storePrefix + a.IndexName,
		Status: failed, LastError: &a.Refused.fileError, ChunkingStrategy: &a.Chunking, Attributes: a.Refused.Attributes, refused: true,
	}
	if f.Attributes == nil {
		f.Attributes = map[string]any{}
	}
	return f
}

// storeFile returns a file of a vector store. Errors: NotFound.
func (h *Handler) storeFile(ctx context.Context, db *data.Handle, indexName, id string) (*storeFile, error) {
	ref, err := refOf(ctx, db, "", indexName, id)
	if err != nil {
		return nil, err
	}
	known, err := attachedFiles(ctx, db, indexName, []string{id})
	if err != nil {
		return nil, err
	}
	d, _, err := h.config.Documents.Document(ctx, indexName, *ref)
	if err == nil {
		return storeFileOf(indexName, d, known), nil
	}
	if known[id].Refused == nil || fault.KindOf(err) != fault.NotFound {
		return nil, unknownFile(id, err)
	}
	visible, err := visibleTo(ctx)
	if err != nil {
		return nil, err
	}
	refused, err := refusedFiles(ctx, db, indexName, []string{id}, visible, attached{}, false, 1)
	if err != nil || len(refused) == 0 {
		return nil, cmp.Or(err, notFound("", "file of this vector store", id))
	}
	return refusedFile(refused[0]), nil
}

// visibleTo returns the filter of what the caller sees: its credential's and that of the request context.
func visibleTo(ctx context.Context) (filter.Filter, error) {
	caller, err := access.Caller(ctx)
	if err != nil {
		return filter.Filter{}, err
	}
	asked, err := caller.Resolve(caller.Overrides.Filter)
	return filter.And(caller.Principal.MandatoryFilter, asked), err
}

// unknownFile returns err, in terms of this interface if it says that there is no such document.
func unknownFile(id string, err error) error {
	if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.Invalid {
		return notFound("", "file of this vector store", id)
	}
	return err
}

// getStoreFile implements GET /v1/vector_stores/{store}/files/{file}.
func (h *Handler) getStoreFile(ctx context.Context, r *http.Request) (*storeFile, error) {
	indexName, db, err := h.storeToRead(ctx, r)
	if err != nil {
		return nil, err
	}
	return h.storeFile(ctx, db, indexName, r.PathValue("file"))
}

type updateFileRequest struct {
	Attributes map[string]any `json:"attributes"`
}

// updateStoreFile implements POST /v1/vector_stores/{store}/files/{file}. The file is processed again,
// as its chunks carry the attributes; until that is done they have the earlier ones.
func (h *Handler) updateStoreFile(ctx context.Context, r *http.Request, in *updateFileRequest) (*storeFile, error) {
	db, indexName, err := h.toChange(ctx, r)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("file")
	if !isFileID(id) {
		return nil, fault.New(fault.Precondition, "the document %q was not made from a file: upload it again with other metadata", shorten(id))
	}
	if in.Attributes == nil {
		return nil, fault.Field("attributes", "is missing")
	}
	old, err := h.storeFile(ctx, db, indexName, id)
	if err != nil {
		return nil, err
	}
	f, err := h.additionOf(ctx, db, "", id, in.Attributes, old.ChunkingStrategy)
	if err != nil {
		return nil, err
	}
	return h.attach(ctx, db, indexName, f)
}

// removeFile implements DELETE /v1/vector_stores/{store}/files/{file}. The file itself stays.
func (h *Handler) removeFile(ctx context.Context, r *http.Request) (*deleted, error) {
	db, indexName, err := h.storeOf(ctx, r, access.Write)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("file")
	return &deleted{ID: id, Object: "vector_store.file.deleted", Deleted: true}, h.detach(ctx, db, indexName, id)
}

// detach removes a file from a vector store. Errors: NotFound.
func (h *Handler) detach(ctx context.Context, db *data.Handle, indexName, id string) error {
	ref, err := refOf(ctx, db, "", indexName, id)
	if err != nil {
		return err
	}
	known, err := attachedFiles(ctx, db, indexName, []string{id})
	if err != nil {
		return err
	}
	err = h.config.Documents.Delete(ctx, indexName, *ref)
	gone := fault.KindOf(err) == fault.NotFound
	if err != nil && !gone {
		return unknownFile(id, err)
	}
	if err := deleteAttached(ctx, db, indexName, id); err != nil {
		return err
	}
	if gone && known[id].Refused == nil {
		return notFound("", "file of this vector store", id)
	}
	return nil
}

// filePage is the text of a file of a vector store.
type filePage struct {
	Object   string        `json:"object"`
	Data     []textContent `json:"data"`
	HasMore  bool          `json:"has_more"`
	NextPage *string       `json:"next_page"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// readStoreFile implements GET /v1/vector_stores/{store}/files/{file}/content. Errors: Precondition
// for a text over the limit.
func (h *Handler) readStoreFile(ctx context.Context, r *http.Request) (*filePage, error) {
	indexName, db, err := h.storeToRead(ctx, r)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("file")
	ref, err := refOf(ctx, db, "", indexName, id)
	if err != nil {
		return nil, err
	}
	out := &filePage{Object: "vector_store.file_content.page", Data: []textContent{}}
	for part := (ingest.Range{End: ingest.MaxTextRange}); ; part = (ingest.Range{Start: part.End, End: part.End + ingest.MaxTextRange}) {
		text, err := h.config.Documents.Text(ctx, indexName, *ref, part)
		switch {
		case err != nil && part.Start > 0, err != nil && fault.KindOf(err) == fault.Precondition:
			return nil, err
		case err != nil:
			return nil, unknownFile(id, err)
		case text.Size > maxReadBytes:
			return nil, fault.New(fault.Precondition, "the text has %d bytes, but this answer at most %d: read it in parts with ReadDocument", text.Size, maxReadBytes)
		}
		if err := admission.Grow(ctx, int64(len(text.Text))); err != nil {
			return nil, err
		}
		out.Data = append(out.Data, textContent{"text", text.Text})
		if part.End = text.Range.End; part.End >= text.Size {
			return out, nil
		}
	}
}
