package ingest

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// KeptDocument is a deleted document that can be restored.
type KeptDocument struct {
	Document
	DeletedAt time.Time
	DeletedBy string    // subject of the credential; empty for the service
	ErasedAt  time.Time `db:"-"` // when its retention ends
}

// KeptListing says which deleted documents of an index to list.
type KeptListing struct {
	IndexName string
	Namespace string        // all namespaces if empty
	Filter    filter.Filter // over their metadata
	PageSize  int32
	PageToken string
}

// KeptPage is a page of deleted documents.
type KeptPage struct {
	Documents []KeptDocument
	IndexName string
	Next      string // token of the next page
	Total     KeptTotal
}

// KeptTotal sums up all that a listing selects; zero but on the first page.
type KeptTotal struct {
	Documents int64
	Bytes     int64 // as they were uploaded
}

// keptDocuments is deleted_documents AS k with the rows of documents that they were, AS d.
const keptDocuments = `ragd_shared.deleted_documents AS k CROSS JOIN LATERAL jsonb_populate_record(NULL::tenant.documents, k.document) AS d`

// keptSelection returns a condition on keptDocuments.
type keptSelection func(args *filter.Args) string

// kept selects the kept documents that the request may see: of a namespace unless it is empty, and with these ids unless they are
// nil. Errors: Invalid.
func (t target) kept(namespace string, ids []string) (keptSelection, error) {
	if namespace != "" {
		if _, err := index.Namespace(namespace); err != nil {
			return nil, err
		}
	}
	return func(args *filter.Args) string {
		where := t.visible.SQL("d.metadata", args)
		if namespace != "" {
			where += " AND d.namespace = " + args.Add(namespace)
		}
		if ids != nil { // a malformed id is of no document
			where += " AND k.document_id = ANY(" + args.Add(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !isID(id) })) + "::uuid[])"
		}
		return where
	}, nil
}

// keptPosition is the sort key of a list of deleted documents.
type keptPosition struct {
	DeletedAt  time.Time `json:"t"`
	DocumentID string    `json:"id"`
}

// Deleted returns a page of the deleted documents of an index that can be restored, those that were deleted last first.
func (s *Service) Deleted(ctx context.Context, l KeptListing) (page KeptPage, err error) {
	err = s.onIndex(ctx, access.Write, l.IndexName, func(t target) error {
		page, err = t.deleted(ctx, l, t.request.Quotas.Kept(s.Keeping.Retention))
		return err
	})
	return page, err
}

func (t target) deleted(ctx context.Context, l KeptListing, retention time.Duration) (page KeptPage, err error) {
	asked, err := t.request.Resolve(l.Filter)
	if err != nil {
		return page, err
	}
	t.visible = filter.And(t.visible, asked)
	which, err := t.kept(l.Namespace, nil)
	if err != nil {
		return page, err
	}
	page.IndexName = t.index.Name
	tokens := access.Pages(ctx, "deleted documents", strconv.FormatInt(t.index.ID, 10), l.Namespace, t.visible.String())
	key := func(d KeptDocument) keptPosition { return keptPosition{d.DeletedAt, d.DocumentID} }
	page.Documents, page.Next, err = pagination.List(tokens, l.PageSize, l.PageToken, keptPosition{}, key, func(after keptPosition, most int) ([]KeptDocument, error) {
		args := filter.NewArgs(t.index.ID, most)
		where := which(args)
		if after.DocumentID != "" {
			where += ` AND (k.deleted_at, k.document_id) < (` + args.Add(after.DeletedAt) + `, ` + args.Add(after.DocumentID) + `::uuid)`
		}
		return data.Select[KeptDocument](ctx, t.handle, `
			SELECT `+documentColumns+`, k.deleted_at, k.deleted_by FROM `+keptDocuments+`
			WHERE k.index_id = $1 AND `+where+` ORDER BY k.deleted_at DESC, k.document_id DESC LIMIT $2`, args.Values()...)
	})
	for n := range page.Documents {
		page.Documents[n].ErasedAt = page.Documents[n].DeletedAt.Add(retention)
	}
	if err != nil || l.PageToken != "" {
		return page, err
	}
	args := filter.NewArgs(t.index.ID)
	page.Total, err = data.Get[KeptTotal](ctx, t.handle, `
		SELECT count(*) AS documents, coalesce(sum(d.byte_size), 0)::bigint AS bytes FROM `+keptDocuments+`
		WHERE k.index_id = $1 AND `+which(args), args.Values()...)
	return page, err
}
