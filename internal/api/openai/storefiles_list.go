package openai

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// listStoreFiles implements GET /v1/vector_stores/{store}/files.
func (h *Handler) listStoreFiles(ctx context.Context, r *http.Request) (*list[*storeFile], error) {
	indexName, db, err := h.storeToRead(ctx, r)
	if err != nil {
		return nil, err
	}
	return h.storeFiles(ctx, r, db, indexName, nil, nil)
}

// documentStates are the states of documents for that of a file. The service has no documents that
// stay cancelled.
var documentStates = map[string][]string{
	"":         {""},
	completed:  {ingest.DocumentReady},
	failed:     {ingest.DocumentFailed, ingest.DocumentNeedsOCR},
	inProgress: {ingest.DocumentPending, ingest.DocumentProcessing},
	cancelled:  {ingest.DocumentDeleting},
}

// storeFiles returns a page of the files of a vector store, or of those of them that have one of the
// uris and ids, if these are not nil. Files that the store did not accept follow the others.
func (h *Handler) storeFiles(ctx context.Context, r *http.Request, db *data.Handle, indexName string, uris, ids []string) (*list[*storeFile], error) {
	p, err := pageOf(r, 20, 100, "filter")
	if err != nil {
		return nil, err
	}
	state := r.URL.Query().Get("filter")
	if _, ok := documentStates[state]; !ok {
		return nil, fault.Field("filter", "must be %s, %s, %s or %s, got %q", inProgress, completed, failed, cancelled, shorten(state))
	}
	var after *storeFile
	if p.after != "" {
		after, err = h.storeFile(ctx, db, indexName, p.after)
		if fault.KindOf(err) == fault.NotFound {
			return nil, notFound("after", "file of this vector store", p.after)
		}
		if err != nil {
			return nil, err
		}
	}
	var files []*storeFile
	if after == nil || !after.refused {
		if files, err = h.documentsAsFiles(ctx, db, indexName, uris, state, p); err != nil {
			return nil, unknownStore(indexName, err)
		}
	}
	if room := p.limit + 1 - len(files); room > 0 && (state == "" || state == failed) {
		refused, err := h.refusedPage(ctx, db, indexName, ids, after, p.descending, room)
		if err != nil {
			return nil, err
		}
		files = append(files, refused...)
	}
	return pageList(files, p.limit, func(f *storeFile) string { return f.ID }), nil
}

// documentsAsFiles returns the documents of a page of files in a state, and one more if there are more.
func (h *Handler) documentsAsFiles(ctx context.Context, db *data.Handle, indexName string, uris []string, state string, p page) ([]*storeFile, error) {
	listing := ingest.Listing{IndexName: indexName, Namespace: index.DefaultNamespace, URIs: uris, PageSize: int32(p.limit + 1), OrderBy: "createTime"}
	if p.descending {
		listing.OrderBy = "createTime desc"
	}
	var err error
	if p.after != "" {
		if listing.After, err = refOf(ctx, db, "after", indexName, p.after); err != nil {
			return nil, err
		}
	}
	var found []ingest.Document
	for _, status := range documentStates[state] {
		listing.Status = status
		some, _, _, err := h.config.Documents.Documents(ctx, listing)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	slices.SortStableFunc(found, func(a, b ingest.Document) int {
		order := cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.DocumentID, b.DocumentID))
		if p.descending {
			return -order
		}
		return order
	})
	found = found[:min(len(found), p.limit+1)]
	made := make([]string, len(found))
	for i, d := range found {
		made[i] = fileOf(d.URI)
	}
	known, err := attachedFiles(ctx, db, indexName, made)
	files := make([]*storeFile, len(found))
	for i, d := range found {
		files[i] = storeFileOf(indexName, d, known)
	}
	return files, err
}

// refusedPage returns at most most files that a vector store did not accept, after a file if that is one
// of them.
func (h *Handler) refusedPage(ctx context.Context, db *data.Handle, indexName string, ids []string, after *storeFile, descending bool, most int) ([]*storeFile, error) {
	visible, err := visibleTo(ctx)
	if err != nil {
		return nil, err
	}
	var last attached
	if after != nil && after.refused {
		known, err := attachedFiles(ctx, db, indexName, []string{after.ID})
		if err != nil {
			return nil, err
		}
		last = known[after.ID]
	}
	refused, err := refusedFiles(ctx, db, indexName, ids, visible, last, descending, most)
	files := make([]*storeFile, len(refused))
	for i, a := range refused {
		files[i] = refusedFile(a)
	}
	return files, err
}
