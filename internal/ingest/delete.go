package ingest

import (
	"cmp"
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// MaxDeletedNamed is how many documents one call may name.
	MaxDeletedNamed = 10_000
	// maxDeletedShown is how many deleted documents a response names at most.
	maxDeletedShown = 1000
	// deleteBatch is how many documents one transaction deletes.
	deleteBatch = 500
)

// Selection says which documents of an index to delete. It has exactly one of
// DocumentIDs, URIs and Filter, or only a Namespace.
type Selection struct {
	IndexName   string
	DocumentIDs []string
	URIs        []string
	Filter      filter.Filter
	FilterGiven bool   // true for an empty filter too, which selects everything
	Namespace   string // if empty: the default one with URIs, all of them otherwise
	DryRun      bool
	Fence       Fence // nil for none
}

// Deleted says which documents were deleted or, in a dry run, would be.
type Deleted struct {
	Count int
	First []DeletedDocument // the first of them, up to maxDeletedShown
}

// DeletedDocument names a deleted document.
type DeletedDocument struct {
	DocumentID string
	Namespace  string
	URI        string
}

// DeleteSelected deletes the selected documents in batches, one transaction each: after an
// error, some may be deleted already. It ignores named documents that do not exist or that
// the credential may not see. Errors: Invalid for a selection that is empty or ambiguous.
func (s *Service) DeleteSelected(ctx context.Context, which Selection) (Deleted, error) {
	if err := which.complete(); err != nil {
		return Deleted{}, err
	}
	var all Deleted
	err := s.onIndex(ctx, access.Write, which.IndexName, func(t target) (err error) {
		which := which
		asked, err := t.request.Resolve(which.Filter)
		if err != nil {
			return err
		}
		which.Filter = filter.And(t.visible, asked)
		if which.DryRun {
			all, err = selected(ctx, t.handle, t.index, which)
			return err
		}
		keep, err := s.keeper(ctx, t)
		if err != nil {
			return err
		}
		defer s.backlog.Recount(t.tenant)
		for {
			var some []DeletedDocument
			err := t.handle.TxOvertaking(ctx, func(tx *data.Tx) (err error) {
				if err := which.Fence.check(ctx, tx); err != nil {
					return err
				}
				some, err = deleteSelected(ctx, tx, t.index, which, keep)
				return err
			})
			if err != nil {
				return err
			}
			all.Count += len(some)
			all.First = append(all.First, some[:min(len(some), maxDeletedShown-len(all.First))]...)
			if len(some) < deleteBatch {
				return nil
			}
		}
	})
	return all, err
}

// complete checks the selection and fills in its namespace. Errors: Invalid for a selection
// that is empty, ambiguous or too long, and for an empty filter.
func (w *Selection) complete() error {
	selectors := 0
	for _, given := range []bool{w.FilterGiven, len(w.DocumentIDs) > 0, len(w.URIs) > 0} {
		if given {
			selectors++
		}
	}
	switch {
	case w.FilterGiven && w.Filter.IsZero():
		return fault.Field("filter", "Cannot delete with empty filter: TruncateIndex empties an index")
	case selectors == 0 && w.Namespace == "":
		return fault.Field("filter", "Either filter, documentIds or uris must be provided, and an empty ids array selects nothing; a namespace alone is deleted as a whole")
	case selectors > 1:
		return fault.Field("filter", "documentIds and uris are mutually exclusive: give one of them")
	case len(w.DocumentIDs) > MaxDeletedNamed:
		return fault.Field("documentIds", "are %d, over the limit of %d: divide them", len(w.DocumentIDs), MaxDeletedNamed)
	case len(w.URIs) > MaxDeletedNamed:
		return fault.Field("uris", "are %d, over the limit of %d: divide them", len(w.URIs), MaxDeletedNamed)
	}
	for _, uri := range w.URIs {
		if err := textlimit.Check("uris", uri, maxURIBytes); err != nil {
			return err
		}
	}
	if _, err := index.Namespace(w.Namespace); err != nil {
		return err
	}
	if len(w.URIs) > 0 {
		w.Namespace = cmp.Or(w.Namespace, index.DefaultNamespace)
	}
	return nil
}

// sql returns the selection as a condition on documents AS d.
func (w Selection) sql(from index.Index, args *filter.Args) string {
	where := "d.index_id = " + args.Add(from.ID) + " AND " + w.Filter.SQL("d.metadata", args)
	if w.Namespace != "" {
		where += " AND d.namespace = " + args.Add(w.Namespace)
	}
	if len(w.DocumentIDs) > 0 { // a malformed id matches no document
		ids := slices.DeleteFunc(slices.Clone(w.DocumentIDs), func(id string) bool { return !isID(id) })
		where += " AND d.document_id = ANY(" + args.Add(ids) + "::uuid[])"
	}
	if len(w.URIs) > 0 {
		where += " AND d.uri = ANY(" + args.Add(w.URIs) + "::text[])"
	}
	return where
}

// selected counts the documents that are selected and returns some of them.
func selected(ctx context.Context, q data.Queryer, from index.Index, which Selection) (Deleted, error) {
	args := filter.NewArgs(maxDeletedShown)
	found, err := data.Select[struct {
		DeletedDocument
		Total int
	}](ctx, q, `
		SELECT d.document_id::text, d.namespace, d.uri, count(*) OVER () AS total FROM tenant.documents AS d
		WHERE `+which.sql(from, args)+` ORDER BY d.document_id LIMIT $1`, args.Values()...)
	if err != nil || len(found) == 0 {
		return Deleted{}, err
	}
	all := Deleted{Count: found[0].Total}
	for _, d := range found {
		all.First = append(all.First, d.DeletedDocument)
	}
	return all, nil
}

// deleteSelected deletes up to deleteBatch of the selected documents and returns them.
func deleteSelected(ctx context.Context, tx *data.Tx, from index.Index, which Selection, keep *keeper) ([]DeletedDocument, error) {
	args := filter.NewArgs(deleteBatch)
	found, err := data.Select[DeletedDocument](ctx, tx, `
		SELECT d.document_id::text, d.namespace, d.uri FROM tenant.documents AS d
		WHERE `+which.sql(from, args)+`
		ORDER BY d.document_id LIMIT $1 FOR UPDATE OF d`, args.Values()...)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(found))
	for i, d := range found {
		ids[i] = d.DocumentID
	}
	return found, deleteLocked(ctx, tx, from, ids, keep)
}
