package ingest

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/backlog"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/job"
	"github.com/ragdhq/ragd/internal/tenant"
)

const documentColumns = `d.document_id::text, d.namespace, d.uri, d.title, d.content_type, d.metadata, d.content_hash, d.version, d.status, d.error, d.chunk_count, d.byte_size, d.job_id::text, d.fingerprint, d.created_at, d.updated_at`

// documentByRef returns the document if the filter lets it be seen.
func documentByRef(ctx context.Context, q tenant.Queryer, indexID int64, ref Ref, visible filter.Filter) (Document, error) {
	args := filter.NewArgs(indexID)
	where := refSQL(ref, args)
	d, err := tenant.Get[Document](ctx, q, `
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

// documentPosition is the sort key of a list of documents: oldest first.
type documentPosition struct {
	CreatedAt  time.Time `json:"t"`
	DocumentID string    `json:"id"`
}

func documents(ctx context.Context, q tenant.Queryer, indexID int64, l Listing, after documentPosition, limit int) ([]Document, error) {
	args := filter.NewArgs(indexID, after.CreatedAt, after.DocumentID, limit, l.Namespace)
	return tenant.Select[Document](ctx, q, `
		SELECT `+documentColumns+` FROM tenant.documents AS d
		WHERE d.index_id = $1 AND (d.created_at, d.document_id) > ($2, $3::uuid) AND ($5 = '' OR d.namespace = $5)
			AND `+l.Filter.SQL("d.metadata", args)+`
		ORDER BY d.created_at, d.document_id LIMIT $4`, args.Values()...)
}

// deleteDocument deletes a document with its chunks and cancels its job. It deletes the
// row of the document first, because a worker that writes the document locks it first too.
func deleteDocument(ctx context.Context, tx *tenant.Tx, from index.Index, ref Ref, visible filter.Filter) error {
	args := filter.NewArgs(from.ID)
	where := refSQL(ref, args)
	deleted, err := tenant.Value[string](ctx, tx, `
		DELETE FROM tenant.documents AS d
		WHERE d.index_id = $1 AND `+where+` AND `+visible.SQL("d.metadata", args)+`
		RETURNING d.document_id::text`, args.Values()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return ref.notFound()
	}
	if err != nil {
		return err
	}
	return deleteChunksAndJobs(ctx, tx, from, []string{deleted})
}

// deleteChunksAndJobs removes the chunks of deleted documents and cancels their jobs.
func deleteChunksAndJobs(ctx context.Context, tx *tenant.Tx, from index.Index, deleted []string) error {
	if _, err := tx.OfIndex(from.ID, from.Generation).Exec(ctx, `DELETE FROM tenant.chunk WHERE document_id = ANY($1::uuid[])`, deleted); err != nil {
		return err
	}
	ended, err := job.CancelDocuments(ctx, tx, deleted, "the document was deleted")
	if err != nil || ended == 0 {
		return err
	}
	return backlog.Leave(ctx, tx, deleted)
}

// chunks returns up to limit chunks of a document from the ordinal after the
// given one.
func chunks(ctx context.Context, q tenant.Queryer, documentID string, f filter.Filter, after, limit int) ([]Chunk, error) {
	args := filter.NewArgs(documentID, after, limit)
	return tenant.Select[Chunk](ctx, q, `
		SELECT c.chunk_id, c.document_id::text, c.ordinal, c.text, c.metadata, c.start_byte, c.end_byte, c.token_count
		FROM tenant.chunk AS c
		WHERE c.document_id = $1 AND c.ordinal > $2 AND `+f.SQL(filter.ChunkMetadata, args)+`
		ORDER BY c.ordinal LIMIT $3`, args.Values()...)
}
