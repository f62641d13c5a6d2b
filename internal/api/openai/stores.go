package openai

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	storePrefix = "vs_"   // before the name of an index
	filePrefix  = "file-" // before the id of a file, or of a document that was made by other means
	batchPrefix = "vsfb_"
)

// Limits of vector stores.
const (
	maxStoreNameBytes = 512
	maxMetadata       = 16 // entries
	maxMetadataKey    = 64 // characters
	maxMetadataValue  = 512
)

// fileCounts counts files by state.
type fileCounts struct {
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Failed     int `json:"failed"`
	Cancelled  int `json:"cancelled"`
	Total      int `json:"total"`
}

func (c *fileCounts) count(status string) {
	c.Total++
	switch status {
	case inProgress:
		c.InProgress++
	case completed:
		c.Completed++
	case failed:
		c.Failed++
	case cancelled:
		c.Cancelled++
	}
}

// vectorStore is a vector store as callers see it.
type vectorStore struct {
	ID           string            `json:"id"`
	Object       string            `json:"object"`
	CreatedAt    int64             `json:"created_at"`
	Name         string            `json:"name"`
	UsageBytes   int64             `json:"usage_bytes"` // not counted: 0
	FileCounts   fileCounts        `json:"file_counts"`
	Status       string            `json:"status"`
	ExpiresAfter any               `json:"expires_after"`
	ExpiresAt    any               `json:"expires_at"`
	LastActiveAt int64             `json:"last_active_at"`
	Metadata     map[string]string `json:"metadata"`
}

// storeOf returns an index as a vector store. refused is how many files it did not accept.
func storeOf(i *ragdv1.Index, d description, refused int) *vectorStore {
	s := &vectorStore{
		ID: storePrefix + i.GetIndexName(), Object: "vector_store", CreatedAt: i.GetCreateTime().GetSeconds(), Name: d.StoreName,
		LastActiveAt: i.GetUpdateTime().GetSeconds(), Metadata: d.Metadata, Status: completed,
		FileCounts: fileCounts{InProgress: int(i.GetPendingDocumentCount()), Completed: int(i.GetDocumentCount()), Failed: int(i.GetFailedDocumentCount()) + refused},
	}
	s.FileCounts.Total = s.FileCounts.InProgress + s.FileCounts.Completed + s.FileCounts.Failed
	if s.FileCounts.InProgress > 0 {
		s.Status = inProgress
	}
	if d.IndexName == "" { // made by other means
		s.Name, s.Metadata = i.GetIndexName(), map[string]string{}
	}
	return s
}

type storeRequest struct {
	Name             *string            `json:"name"`
	Description      *string            `json:"description"`
	FileIDs          []string           `json:"file_ids"`
	Metadata         *map[string]string `json:"metadata"`
	ExpiresAfter     any                `json:"expires_after"`
	ChunkingStrategy *chunkingStrategy  `json:"chunking_strategy"`
}

func (in *storeRequest) check() error {
	if in.ExpiresAfter != nil {
		return fault.Field("expires_after", "vector stores do not expire here: leave it out, and delete the store when it is no longer needed")
	}
	if in.Description != nil && *in.Description != "" {
		return fault.Field("description", "is not stored here: put it into metadata")
	}
	if in.Name != nil {
		if err := textlimit.Check("name", *in.Name, maxStoreNameBytes); err != nil {
			return err
		}
	}
	if in.Metadata != nil {
		return checkMetadata(*in.Metadata)
	}
	return nil
}

func checkMetadata(metadata map[string]string) error {
	if len(metadata) > maxMetadata {
		return fault.Field("metadata", "has %d entries, but may have %d", len(metadata), maxMetadata)
	}
	for key, value := range metadata {
		if err := checkEntry("metadata", key, value); err != nil {
			return err
		}
	}
	return nil
}

// checkEntry checks the sizes of an entry of metadata or attributes.
func checkEntry(field, key, value string) error {
	if n := len([]rune(key)); n == 0 || n > maxMetadataKey {
		return fault.Field(field, "a name must have 1 to %d characters, and %q has %d", maxMetadataKey, shorten(key), n)
	}
	if n := len([]rune(value)); n > maxMetadataValue {
		return fault.Field(field, "the value of %q has %d characters, but may have %d", shorten(key), n, maxMetadataValue)
	}
	if err := textlimit.Check(field, key, 4*maxMetadataKey); err != nil {
		return err
	}
	return textlimit.Check(field, value, 4*maxMetadataValue)
}

// createStore implements POST /v1/vector_stores.
func (h *Handler) createStore(ctx context.Context, _ *http.Request, in *storeRequest) (*vectorStore, error) {
	db, err := h.whole(ctx, access.Write)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	files, err := h.filesToAdd(ctx, db, in.FileIDs, nil, in.ChunkingStrategy)
	if err != nil {
		return nil, err
	}
	d := description{Metadata: map[string]string{}}
	if in.Name != nil {
		d.StoreName = *in.Name
	}
	if in.Metadata != nil {
		d.Metadata = *in.Metadata
	}
	d.IndexName = indexNameFor(d.StoreName)
	if _, err := h.config.API.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: d.IndexName}); err != nil {
		return nil, err
	}
	if err := putDescription(ctx, db, d); err != nil {
		return nil, err
	}
	if len(files) > 0 {
		if _, err := h.attachAll(ctx, db, d.IndexName, files); err != nil {
			return nil, err
		}
	}
	return h.describe(ctx, db, d.IndexName)
}

// indexNameFor returns a new name for the index of a vector store, which resembles the name of the
// store: of any text, the letters and digits of ASCII.
func indexNameFor(store string) string {
	var name strings.Builder
	for _, r := range strings.ToLower(store) {
		switch {
		case name.Len() == 40:
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9' && name.Len() > 0:
			name.WriteRune(r)
		case name.Len() > 0 && !strings.HasSuffix(name.String(), "-") && !unicode.IsLetter(r):
			name.WriteByte('-')
		}
	}
	start := strings.TrimRight(name.String(), "-")
	return cmp.Or(start, "store") + "-" + newID("")[:10]
}

// indexOf returns the name of the index of a vector store. Errors: NotFound for what is no id of one.
func indexOf(r *http.Request) (string, error) {
	id := r.PathValue("store")
	name, ok := strings.CutPrefix(id, storePrefix)
	if !ok || name == "" {
		return "", notFound("", "vector store", id)
	}
	return name, nil
}

// storeOf returns a handle of the caller's tenant and the index of the vector store that a request is
// about. Errors: those of whole and indexOf.
func (h *Handler) storeOf(ctx context.Context, r *http.Request, need access.Scope) (*data.Handle, string, error) {
	db, err := h.whole(ctx, need)
	if err != nil {
		return nil, "", err
	}
	indexName, err := indexOf(r)
	return db, indexName, err
}

// describe returns a vector store. Errors: NotFound.
func (h *Handler) describe(ctx context.Context, db *data.Handle, indexName string) (*vectorStore, error) {
	i, err := h.config.API.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: indexName})
	if err != nil {
		return nil, unknownStore(indexName, err)
	}
	described, refused, err := keptOf(ctx, db, []string{indexName})
	return storeOf(i, described[indexName], refused[indexName]), err
}

// keptOf returns the descriptions of those indexes that have one, and how many files, of those that the
// caller sees, each did not accept.
func keptOf(ctx context.Context, q data.Queryer, indexNames []string) (map[string]description, map[string]int, error) {
	described, err := describeStores(ctx, q, indexNames)
	if err != nil {
		return nil, nil, err
	}
	visible, err := visibleTo(ctx)
	if err != nil {
		return nil, nil, err
	}
	refused, err := countRefused(ctx, q, indexNames, visible)
	return described, refused, err
}

// unknownStore returns err, in terms of this interface if it says that there is no such index.
func unknownStore(indexName string, err error) error {
	if fault.KindOf(err) == fault.NotFound || fault.KindOf(err) == fault.Invalid {
		return notFound("", "vector store", storePrefix+indexName)
	}
	return err
}

// getStore implements GET /v1/vector_stores/{store}.
func (h *Handler) getStore(ctx context.Context, r *http.Request) (*vectorStore, error) {
	indexName, db, err := h.storeToRead(ctx, r)
	if err != nil {
		return nil, err
	}
	return h.describe(ctx, db, indexName)
}

// storeToRead returns the index of the vector store that a request is about, and a handle of the
// caller's tenant. The index may not exist. Errors: Denied without the scope read.
func (h *Handler) storeToRead(ctx context.Context, r *http.Request) (string, *data.Handle, error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return "", nil, err
	}
	indexName, err := indexOf(r)
	return indexName, h.config.DB.Handle(caller.Tenant), err
}

// listStores implements GET /v1/vector_stores. It reads the names of all indexes of the tenant, and
// the counts of those on the page.
func (h *Handler) listStores(ctx context.Context, r *http.Request) (*list[*vectorStore], error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	p, err := pageOf(r, 20, 100)
	if err != nil {
		return nil, err
	}
	all, err := h.allIndexes(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.after != "" {
		at := slices.IndexFunc(all, func(i *ragdv1.Index) bool { return storePrefix+i.GetIndexName() == p.after })
		if at < 0 {
			return nil, notFound("after", "vector store", p.after)
		}
		all = all[at+1:]
	}
	all = all[:min(len(all), p.limit+1)]
	names := make([]string, len(all))
	for i, index := range all {
		names[i] = index.GetIndexName()
	}
	described, refused, err := keptOf(ctx, h.config.DB.Handle(caller.Tenant), names)
	if err != nil {
		return nil, err
	}
	stores := make([]*vectorStore, 0, len(all))
	for _, index := range all {
		whole, err := h.config.API.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: index.GetIndexName()})
		switch {
		case fault.KindOf(err) == fault.NotFound: // deleted meanwhile
			continue
		case err != nil:
			return nil, err
		}
		stores = append(stores, storeOf(whole, described[index.GetIndexName()], refused[index.GetIndexName()]))
	}
	return pageList(stores, p.limit, func(s *vectorStore) string { return s.ID }), nil
}

// allIndexes returns the indexes of the tenant in the order of their creation.
func (h *Handler) allIndexes(ctx context.Context, p page) (all []*ragdv1.Index, err error) {
	for token := ""; ; {
		some, err := h.config.API.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: 1000, PageToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, some.GetIndexes()...)
		if token = some.GetNextPageToken(); token == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b *ragdv1.Index) int {
		order := cmp.Or(a.GetCreateTime().AsTime().Compare(b.GetCreateTime().AsTime()), cmp.Compare(a.GetIndexName(), b.GetIndexName()))
		if p.descending {
			return -order
		}
		return order
	})
	return all, nil
}

// updateStore implements POST /v1/vector_stores/{store}.
func (h *Handler) updateStore(ctx context.Context, r *http.Request, in *storeRequest) (*vectorStore, error) {
	db, indexName, err := h.storeOf(ctx, r, access.Write)
	if err != nil {
		return nil, err
	}
	switch {
	case in.FileIDs != nil:
		return nil, fault.Field("file_ids", "files are added with POST /v1/vector_stores/{id}/files or file_batches")
	case in.ChunkingStrategy != nil:
		return nil, fault.Field("chunking_strategy", "is chosen for each file when it is added")
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	old, err := h.describe(ctx, db, indexName)
	if err != nil {
		return nil, err
	}
	d := description{IndexName: indexName, StoreName: old.Name, Metadata: old.Metadata}
	if in.Name != nil {
		d.StoreName = *in.Name
	}
	if in.Metadata != nil && *in.Metadata != nil {
		d.Metadata = *in.Metadata
	}
	if err := putDescription(ctx, db, d); err != nil {
		return nil, err
	}
	return h.describe(ctx, db, indexName)
}

// deleteStore implements DELETE /v1/vector_stores/{store}. The files stay.
func (h *Handler) deleteStore(ctx context.Context, r *http.Request) (*deleted, error) {
	indexName, err := indexOf(r)
	if err != nil {
		return nil, err
	}
	if _, err := h.config.API.DeleteIndex(ctx, &ragdv1.DeleteIndexRequest{IndexName: indexName}); err != nil {
		return nil, unknownStore(indexName, err)
	}
	return &deleted{ID: storePrefix + indexName, Object: "vector_store.deleted", Deleted: true}, nil
}
