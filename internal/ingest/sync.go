package ingest

import (
	"context"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// MaxSourceDocuments is how many documents a source may have.
	MaxSourceDocuments = 200_000
	// MaxGoneListed is how many deleted documents a response names at most.
	MaxGoneListed = 100_000
)

// Source lists the documents of a source, such as a folder or a site.
type Source struct {
	IndexName    string
	Namespace    string // index.DefaultNamespace if empty
	Prefix       string // of the uris of its documents
	WholeIndex   bool   // the source covers the whole index; excludes Prefix
	URIs         []string
	Fingerprints []string // Fingerprints[i] is that of URIs[i]
	DryRun       bool
	AllowEmpty   bool
}

// Difference is how an index differs from a source.
type Difference struct {
	New       []string // uris that the index does not have
	Changed   []string // with another fingerprint, or failed
	Unchanged int
	Gone      []string // no longer in the source
}

// Sync compares a source with its documents in the index. Unless it is a dry run, it
// deletes the documents that are no longer in the source. Errors: Invalid naming the field,
// NotFound.
func (s *Service) Sync(ctx context.Context, source Source) (Difference, error) {
	if err := source.complete(); err != nil {
		return Difference{}, err
	}
	var d Difference
	err := s.onIndex(ctx, access.Write, source.IndexName, func(t target) (err error) {
		defer s.backlog.Recount(t.tenant)
		d, err = s.sync(ctx, t, source)
		return err
	})
	return d, err
}

func (s *Service) sync(ctx context.Context, t target, source Source) (Difference, error) {
	rows, err := compare(ctx, t.handle, t.index.ID, source, t.visible)
	if err != nil {
		return Difference{}, err
	}
	var d Difference
	var gone []sourceRow
	for _, row := range rows {
		switch row.Change {
		case "new":
			d.New = append(d.New, row.URI)
		case "changed":
			d.Changed = append(d.Changed, row.URI)
		default:
			d.Gone, gone = append(d.Gone, row.URI), append(gone, row)
		}
	}
	d.Unchanged = len(source.URIs) - len(d.New) - len(d.Changed)
	if source.DryRun {
		return d, nil
	}
	keep, err := s.keeper(ctx, t)
	if err != nil {
		return Difference{}, err
	}
	for some := range slices.Chunk(gone, deleteBatch) {
		err := t.handle.TxOvertaking(ctx, func(tx *data.Tx) error { return deleteGone(ctx, tx, t.index, some, keep) })
		if err != nil {
			return Difference{}, err
		}
	}
	return d, nil
}

// complete checks a source and fills in its namespace. Errors: Invalid naming the field.
func (s *Source) complete() (err error) {
	if s.Namespace, err = index.Namespace(s.Namespace); err != nil {
		return err
	}
	switch {
	case s.Prefix == "" && !s.WholeIndex:
		return fault.Field("uriPrefix", "is empty: say which uris the source has, or set wholeIndex")
	case s.Prefix != "" && s.WholeIndex:
		return fault.Field("uriPrefix", "and wholeIndex exclude each other")
	case len(s.URIs) == 0 && !s.AllowEmpty:
		return fault.Field("documents", "are none: set allowEmpty if the source is really empty, which deletes all that the index has of it")
	case len(s.URIs) > MaxSourceDocuments:
		return fault.Field("documents", "are %d, over the limit of %d: divide the source", len(s.URIs), MaxSourceDocuments)
	}
	if err := textlimit.Check("uriPrefix", s.Prefix, maxURIBytes); err != nil {
		return err
	}
	seen := make(map[string]bool, len(s.URIs))
	for i, uri := range s.URIs {
		if err := textlimit.Check("documents.uri", uri, maxURIBytes); err != nil {
			return err
		}
		if err := textlimit.Check("documents.fingerprint", s.Fingerprints[i], maxFingerprintBytes); err != nil {
			return err
		}
		if uri == "" || !strings.HasPrefix(uri, s.Prefix) {
			return fault.Field("documents.uri", "%q does not begin with the prefix %q", shorten(uri), shorten(s.Prefix))
		}
		if seen[uri] {
			return fault.Field("documents.uri", "%q is given twice", shorten(uri))
		}
		seen[uri] = true
	}
	return nil
}

// sourceRow is a document that differs between the index and the source.
type sourceRow struct {
	URI        string
	Change     string // new, changed or gone
	DocumentID *string
	Version    *int
}

func compare(ctx context.Context, q data.Queryer, indexID int64, source Source, visible filter.Filter) ([]sourceRow, error) {
	args := filter.NewArgs(indexID, source.Prefix, source.URIs, source.Fingerprints, source.Namespace)
	return data.Select[sourceRow](ctx, q, `
		WITH known AS (
			SELECT d.uri, d.fingerprint, d.status, d.document_id::text, d.version FROM tenant.documents AS d
			WHERE d.index_id = $1 AND d.namespace = $5 AND starts_with(d.uri, $2) AND `+visible.SQL("d.metadata", args)+`
		), compared AS (
			SELECT uri, known.document_id, known.version, CASE
				WHEN known.document_id IS NULL THEN 'new'
				WHEN given.fingerprint IS NULL THEN 'gone'
				WHEN known.status IN ('failed', 'needs_ocr') OR given.fingerprint = '' OR given.fingerprint <> known.fingerprint THEN 'changed'
				ELSE 'unchanged' END AS change
			FROM unnest($3::text[], $4::text[]) AS given (uri, fingerprint) FULL JOIN known USING (uri)
		)
		SELECT c.uri, c.change, c.document_id, c.version FROM compared AS c
		WHERE c.change <> 'unchanged' ORDER BY c.uri COLLATE "C"`, args.Values()...)
}

// deleteGone deletes documents, except those that changed after the comparison.
func deleteGone(ctx context.Context, tx *data.Tx, from index.Index, gone []sourceRow, keep *keeper) error {
	ids, versions := make([]string, len(gone)), make([]int, len(gone))
	for i, row := range gone {
		ids[i], versions[i] = *row.DocumentID, *row.Version
	}
	found, err := data.Values[string](ctx, tx, `
		SELECT d.document_id::text FROM unnest($2::uuid[], $3::int[]) AS gone (document_id, version)
		JOIN tenant.documents AS d USING (document_id, version)
		WHERE d.index_id = $1 ORDER BY d.document_id FOR UPDATE OF d`, from.ID, ids, versions)
	if err != nil {
		return err
	}
	return deleteLocked(ctx, tx, from, found, keep)
}
