package ingest

import (
	"cmp"
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/textlimit"
)

const (
	// MaxDeletedNamed bounds the documents that one call names.
	MaxDeletedNamed = 10_000
	// maxDeletedShown bounds how many deleted documents an answer names.
	maxDeletedShown = 1000
	// deleteBatch is how many documents one transaction deletes.
	deleteBatch = 500
)

// Selection says which documents of an index are to be deleted: it has one of
// DocumentIDs, URIs and Filter, or a Namespace alone.
type Selection struct {
	IndexName   string
	DocumentIDs []string
	URIs        []string
	Filter      filter.Filter
	FilterGiven bool   // also when it selects everything
	Namespace   string // of the uris, the default one if empty; else of all if empty
	DryRun      bool
}

// Deleted says which documents were deleted, or would be by a dry run.
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

// DeleteSelected removes the selected documents, in transactions of deleteBatch: when it
// fails, some may be deleted. Named documents that do not exist, or that the credential may
// not see, are ignored. Errors: Invalid for a selection that is empty or ambiguous.
func (s *Service) DeleteSelected(ctx context.Context, which Selection) (Deleted, error) {
	if err := which.complete(); err != nil {
		return Deleted{}, err
	}
	var all Deleted
	err := s.onIndex(ctx, tenant.Write, which.IndexName, func(t target) (err error) {
		which := which
		which.Filter = filter.And(t.visible, which.Filter)
		if which.DryRun {
			all, err = selected(ctx, t.handle, t.index, which)
			return err
		}
		defer s.backlog.Recount(t.tenant)
		for {
			var some []DeletedDocument
			err := t.handle.TxOvertaking(ctx, func(tx *tenant.Tx) (err error) {
				some, err = deleteSelected(ctx, tx, t.index, which)
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

// complete checks the selection and fills in its namespace. Errors: Invalid for one that
// selects nothing, or everything by accident.
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

// sql is the condition on documents AS d.
func (w Selection) sql(from index.Index, args *filter.Args) string {
	where := "d.index_id = " + args.Add(from.ID) + " AND " + w.Filter.SQL("d.metadata", args)
	if w.Namespace != "" {
		where += " AND d.namespace = " + args.Add(w.Namespace)
	}
	if len(w.DocumentIDs) > 0 { // what cannot be an id of ours is not there
		ids := slices.DeleteFunc(slices.Clone(w.DocumentIDs), func(id string) bool { return !isID(id) })
		where += " AND d.document_id = ANY(" + args.Add(ids) + "::uuid[])"
	}
	if len(w.URIs) > 0 {
		where += " AND d.uri = ANY(" + args.Add(w.URIs) + "::text[])"
	}
	return where
}

// selected counts the documents that are selected and returns some of them.
func selected(ctx context.Context, q tenant.Queryer, from index.Index, which Selection) (Deleted, error) {
	args := filter.NewArgs(maxDeletedShown)
	found, err := tenant.Select[struct {
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

// deleteSelected removes the first documents that are selected, at most deleteBatch.
func deleteSelected(ctx context.Context, tx *tenant.Tx, from index.Index, which Selection) ([]DeletedDocument, error) {
	args := filter.NewArgs(deleteBatch)
	deleted, err := tenant.Select[DeletedDocument](ctx, tx, `
		DELETE FROM tenant.documents AS d
		USING (
			SELECT d.document_id FROM tenant.documents AS d
			WHERE `+which.sql(from, args)+`
			ORDER BY d.document_id LIMIT $1 FOR UPDATE OF d
		) AS selected
		WHERE d.document_id = selected.document_id
		RETURNING d.document_id::text, d.namespace, d.uri`, args.Values()...)
	if err != nil || len(deleted) == 0 {
		return nil, err
	}
	ids := make([]string, len(deleted))
	for i, d := range deleted {
		ids[i] = d.DocumentID
	}
	return deleted, deleteChunksAndJobs(ctx, tx, from, ids)
}
