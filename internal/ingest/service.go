package ingest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Service stores, lists and deletes the documents of the calling tenant. Safe for
// concurrent use.
type Service struct {
	db         *data.DB
	indexes    *index.Service
	backlog    *backlog.Backlog
	extractor  *extract.Extractor
	parse      ParseFunc
	processor  *limit.Processor
	spooled    *limit.Limiter[tenant.ID] // bytes of large documents that are arriving
	statistics statistics
	batcher    batcher
	viewing    viewing

	// Keeping says how deleted documents are kept. Zero: they are erased.
	Keeping Keeping
	// Reads says which further files can be read. Others are refused.
	Reads Reads
	// Viewer looks at the pages of files; New sets one that does so in this process.
	Viewer Viewer
}

// New returns a Service that adds documents to the backlog, which a Worker with the same
// extractor and parse function processes. ChunkText and Preview use the processor; nil is
// no limit.
func New(db *data.DB, indexes *index.Service, backlog *backlog.Backlog, extractor *extract.Extractor, parse ParseFunc, processor *limit.Processor) *Service {
	s := &Service{db: db, indexes: indexes, backlog: backlog, extractor: extractor, parse: parse, processor: processor, spooled: newSpooled(), viewing: newViewing(), Viewer: viewHere{}}
	s.batcher = batcher{store: s.storeAll, waiting: map[batchKey][]*waitingUpload{}}
	return s
}

// isGone reports whether a statement failed because its table no longer exists.
func isGone(err error) bool {
	var gone *data.GoneError
	return errors.As(err, &gone)
}

// target is the index of a request, and the part of it that the request may see.
type target struct {
	tenant  tenant.ID
	handle  *data.Handle
	index   index.Index
	visible filter.Filter // the credential's mandatory filter and the context's
	request *access.Request
}

// onIndex checks the scope of the credential and calls do with the named index, or the
// tenant's only one, as index.Service.Use does.
func (s *Service) onIndex(ctx context.Context, need access.Scope, indexName string, do func(t target) error) error {
	r, err := access.Require(ctx, need)
	if err != nil {
		return err
	}
	asked, err := r.Resolve(r.Overrides.Filter)
	if err != nil {
		return err
	}
	return s.indexes.Use(ctx, r.Tenant, *cmp.Or(r.Overrides.IndexName, &indexName), func(i index.Index, tables *data.Handle) error {
		return do(target{
			tenant: r.Tenant, handle: tables, index: i, visible: filter.And(r.Principal.MandatoryFilter, asked), request: r,
		})
	})
}

// Document returns a document. Errors: NotFound, also for one that the
// credential's mandatory filter hides.
func (s *Service) Document(ctx context.Context, indexName string, ref Ref) (d Document, name string, err error) {
	err = s.onIndex(ctx, access.Read, indexName, func(t target) error {
		if err := ref.check(); err != nil {
			return err
		}
		d, err = documentByRef(ctx, t.handle, t.index.ID, ref, t.visible)
		name = t.index.Name
		return err
	})
	return d, name, err
}

// MetadataOf returns the metadata of the documents of a namespace that have one of the uris, by their uris.
// Those that the credential's mandatory filter hides are left out.
func (s *Service) MetadataOf(ctx context.Context, indexName, namespace string, uris []string) (found map[string]map[string]any, err error) {
	err = s.onIndex(ctx, access.Read, indexName, func(t target) error {
		found, err = metadataOf(ctx, t.handle, t.index.ID, namespace, uris, t.visible)
		return err
	})
	return found, err
}

// maxSearchBytes is the longest text that a list of documents can be searched for.
const maxSearchBytes = 256

// Listing says which documents of an index to list.
type Listing struct {
	IndexName string
	Namespace string        // all namespaces if empty
	Status    string        // all states if empty
	Search    string        // a part of the uri or title, in any case
	OrderBy   string        // a field and perhaps " desc"; in the order of creation if empty
	Filter    filter.Filter // over their metadata
	URIs      []string      // only these; all if nil
	After     *Ref          // only those after this document, in the order of creation
	PageSize  int32
	PageToken string
}

// Documents returns a page of an index's documents, the name of the index and the token of
// the next page.
func (s *Service) Documents(ctx context.Context, l Listing) (found []Document, name, next string, err error) {
	err = s.onIndex(ctx, access.Read, l.IndexName, func(t target) error {
		found, next, err = t.documents(ctx, l)
		name = t.index.Name
		return err
	})
	return found, name, next, err
}

func (t target) documents(ctx context.Context, l Listing) ([]Document, string, error) {
	if l.Namespace != "" {
		if _, err := index.Namespace(l.Namespace); err != nil {
			return nil, "", err
		}
	}
	if l.Status != "" && !slices.Contains(documentStates, l.Status) {
		return nil, "", fault.Field("status", "unknown status %q; known are %s", textlimit.Shorten(l.Status, 100), strings.Join(documentStates, ", "))
	}
	if err := textlimit.Check("search", l.Search, maxSearchBytes); err != nil {
		return nil, "", err
	}
	o, err := parseOrder(l.OrderBy)
	if err != nil {
		return nil, "", err
	}
	asked, err := t.request.Resolve(l.Filter)
	if err != nil {
		return nil, "", err
	}
	l.Filter = filter.And(t.visible, asked)
	var first documentPosition
	if l.After != nil {
		if err := l.After.check(); err != nil {
			return nil, "", err
		}
		d, err := documentByRef(ctx, t.handle, t.index.ID, *l.After, t.visible)
		if err != nil {
			return nil, "", err
		}
		first = documentPosition{d.CreatedAt.Format(time.RFC3339Nano), d.DocumentID}
	}
	tokens := access.Pages(ctx, "documents", strconv.FormatInt(t.index.ID, 10), l.Namespace, l.Status, l.Search, o.String(), l.Filter.String())
	found, next, err := pagination.List(tokens, l.PageSize, l.PageToken, first, orderedDocument.position, func(after documentPosition, most int) ([]orderedDocument, error) {
		return documents(ctx, t.handle, t.index.ID, l, o, after, most)
	})
	list := make([]Document, len(found))
	for i, d := range found {
		list[i] = d.Document
	}
	return list, next, err
}

// Delete deletes a document in any state, with its chunks. It can be restored within its retention. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, indexName string, ref Ref) error {
	return s.onIndex(ctx, access.Write, indexName, func(t target) error {
		if err := ref.check(); err != nil {
			return err
		}
		keep, err := s.keeper(ctx, t)
		if err != nil {
			return err
		}
		defer s.backlog.Recount(t.tenant)
		return t.handle.TxOvertaking(ctx, func(tx *data.Tx) error {
			return deleteDocument(ctx, tx, t.index, ref, t.visible, keep)
		})
	})
}

// Chunks returns a page of a document's chunks in reading order and the token of
// the next page. Errors: NotFound.
func (s *Service) Chunks(ctx context.Context, indexName, documentID string, pageSize int32, pageToken string) (found []Chunk, next string, err error) {
	err = s.onIndex(ctx, access.Read, indexName, func(t target) error {
		found, next, err = t.chunks(ctx, Ref{DocumentID: documentID}, pageSize, pageToken)
		return err
	})
	return found, next, err
}

func (t target) chunks(ctx context.Context, ref Ref, pageSize int32, pageToken string) ([]Chunk, string, error) {
	if err := ref.check(); err != nil {
		return nil, "", err
	}
	tokens := access.Pages(ctx, "chunks", strconv.FormatInt(t.index.ID, 10), ref.DocumentID, t.visible.String())
	return pagination.List(tokens, pageSize, pageToken, -1, func(c Chunk) int { return c.Ordinal }, func(after, most int) ([]Chunk, error) {
		if _, err := documentByRef(ctx, t.handle, t.index.ID, ref, t.visible); err != nil {
			return nil, err
		}
		return chunks(ctx, t.handle, ref.DocumentID, t.visible, after, most)
	})
}
