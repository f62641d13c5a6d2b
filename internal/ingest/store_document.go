package ingest

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

const documentColumns = `d.document_id::text, d.namespace, d.uri, d.title, d.content_type, d.metadata, d.content_hash, d.content_sha256, d.version, d.status, d.error, d.chunk_count, d.byte_size, d.text_bytes, d.text_type, d.job_id::text, d.fingerprint, d.created_at, d.updated_at, ` + noticeSQL + ` AS notice`

// noticeSQL is the notice of a document d, also in a schema without the column, which is a migration behind.
const noticeSQL = `coalesce(to_jsonb(d)->>'notice', '')`

// documentByRef returns the document if the filter lets it be seen.
func documentByRef(ctx context.Context, q data.Queryer, indexID int64, ref Ref, visible filter.Filter) (Document, error) {
	args := filter.NewArgs(indexID)
	where := refSQL(ref, args)
	d, err := data.Get[Document](ctx, q, `
		SELECT `+documentColumns+` FROM tenant.documents AS d
		WHERE d.index_id = $1 AND `+where+` AND `+visible.SQL("d.metadata", args), args.Values()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, ref.notFound()
	}
	return d, err
}

func refSQL(ref Ref, args *filter.Args) string {
	if ref.DocumentID != "" {
		return "d.document_id = " + args.Add(ref.DocumentID) + "::uuid"
	}
	return "d.namespace = " + args.Add(ref.Namespace) + " AND d.uri = " + args.Add(ref.URI)
}

// documentPosition is the sort key of a list of documents: a value of its order, as text, and the
// id of a document.
type documentPosition struct {
	Value      string `json:"v"`
	DocumentID string `json:"id"`
}

// orderedDocument is a document with the value that it is sorted by.
type orderedDocument struct {
	Document
	SortValue string
}

func (d orderedDocument) position() documentPosition {
	return documentPosition{d.SortValue, d.DocumentID}
}

// documents returns at most limit documents after a position in the order, from the first if it is
// zero. Time is logarithmic in the number of documents in the order of creation, n log n in others.
func documents(ctx context.Context, q data.Queryer, indexID int64, l Listing, o order, after documentPosition, limit int) ([]orderedDocument, error) {
	args := filter.NewArgs(indexID, limit, l.Namespace, l.Status, l.Search, l.URIs)
	rest := "true"
	if after.DocumentID != "" {
		rest = `(` + o.expression + `, d.document_id) ` + o.after() + ` (` + args.Add(after.Value) + `::text::` + o.sqlType + `, ` + args.Add(after.DocumentID) + `::uuid)`
	}
	return data.Select[orderedDocument](ctx, q, `
		SELECT `+documentColumns+`, (`+o.expression+`)::text AS sort_value FROM tenant.documents AS d
		WHERE d.index_id = $1 AND `+rest+` AND ($3 = '' OR d.namespace = $3) AND ($4 = '' OR d.status = $4)
			AND ($5 = '' OR strpos(lower(d.uri), lower($5)) > 0 OR strpos(lower(d.title), lower($5)) > 0)
			AND ($6::text[] IS NULL OR d.uri = ANY($6)) AND `+l.Filter.SQL("d.metadata", args)+`
		ORDER BY `+o.expression+o.direction()+`, d.document_id`+o.direction()+` LIMIT $2`, args.Values()...)
}

// metadataOf returns the metadata of documents by their uris. Each is looked up by key, as in unchangedDocuments.
func metadataOf(ctx context.Context, q data.Queryer, indexID int64, namespace string, uris []string, visible filter.Filter) (map[string]map[string]any, error) {
	args := filter.NewArgs(indexID, namespace, uris)
	found, err := data.Select[struct {
		URI      string `db:"uri"`
		Metadata map[string]any
	}](ctx, q, `
		SELECT d.uri, d.metadata FROM unnest($3::text[]) AS given (uri)
		CROSS JOIN LATERAL (
			SELECT d.uri, d.metadata FROM tenant.documents AS d
			WHERE d.index_id = $1 AND d.namespace = $2 AND d.uri = given.uri AND `+visible.SQL("d.metadata", args)+`
			OFFSET 0
		) AS d`, args.Values()...)
	all := make(map[string]map[string]any, len(found))
	for _, d := range found {
		all[d.URI] = d.Metadata
	}
	return all, err
}

// deleteDocument deletes a document with its chunks and cancels its job. keep keeps it unless it is nil.
func deleteDocument(ctx context.Context, tx *data.Tx, from index.Index, ref Ref, visible filter.Filter, keep *keeper) error {
	args := filter.NewArgs(from.ID)
	where := refSQL(ref, args)
	found, err := data.Value[string](ctx, tx, `
		SELECT d.document_id::text FROM tenant.documents AS d
		WHERE d.index_id = $1 AND `+where+` AND `+visible.SQL("d.metadata", args)+` FOR UPDATE OF d`, args.Values()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return ref.notFound()
	}
	if err != nil {
		return err
	}
	return deleteLocked(ctx, tx, from, []string{found}, keep)
}

// deleteLocked deletes documents, whose rows the caller has locked in the order of their
// ids, with their chunks, and cancels their jobs. Every writer of chunks locks these rows
// first. Chunks go before their documents, as a worker replaces chunks before it changes
// the document: so all writers lock the counts of the graph before those of the index. keep keeps the documents unless it is nil.
func deleteLocked(ctx context.Context, tx *data.Tx, from index.Index, ids []string, keep *keeper) error {
	if len(ids) == 0 {
		return nil
	}
	remove := eraseParts
	if keep != nil {
		remove = keep.keep
	}
	removed, err := remove(ctx, tx, from, ids)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM tenant.documents WHERE document_id = ANY($1::uuid[])`, ids); err != nil {
		return err
	}
	if err := index.CountBytes(ctx, tx, from.ID, -removed); err != nil {
		return err
	}
	ended, err := job.CancelDocuments(ctx, tx, ids, "the document was deleted")
	if err != nil || ended == 0 {
		return err
	}
	return backlog.Leave(ctx, tx, ids)
}

// eraseParts deletes the chunks and cells of documents. It returns how many bytes the cells had.
func eraseParts(ctx context.Context, tx *data.Tx, from index.Index, ids []string) (int64, error) {
	tables := tx.OfIndex(from.ID, from.Generation)
	if err := deleteChunks(ctx, tables, ids); err != nil {
		return 0, err
	}
	return deleteCells(ctx, tables, ids)
}

// deleteChunks deletes the chunks of documents. It locks them in the order in which the
// writers of edges do, so that it cannot deadlock with them.
func deleteChunks(ctx context.Context, tx *data.Tx, documentIDs []string) error {
	_, err := tx.Exec(ctx, `
		WITH deleted AS MATERIALIZED (
			SELECT c.ctid FROM tenant.chunk AS c WHERE c.document_id = ANY($1::uuid[])
			ORDER BY c.document_id, c.ordinal FOR UPDATE
		)
		DELETE FROM tenant.chunk WHERE ctid = ANY(ARRAY(SELECT ctid FROM deleted))`, documentIDs)
	return err
}

// chunks returns up to limit chunks of a document from the ordinal after the
// given one.
func chunks(ctx context.Context, q data.Queryer, documentID string, f filter.Filter, after, limit int) ([]Chunk, error) {
	args := filter.NewArgs(documentID, after, limit)
	return data.Select[Chunk](ctx, q, `
		SELECT c.chunk_id, c.document_id::text, c.ordinal, c.text, c.metadata, c.start_byte, c.end_byte, c.token_count
		FROM tenant.chunk AS c
		WHERE c.document_id = $1 AND c.ordinal > $2 AND `+f.SQL(filter.ChunkMetadata, args)+`
		ORDER BY c.ordinal LIMIT $3`, args.Values()...)
}
