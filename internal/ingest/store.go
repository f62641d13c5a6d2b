package ingest

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

const documentColumns = `d.document_id::text, d.uri, d.title, d.content_type, d.metadata, d.content_hash, d.version, d.status, d.error, d.chunk_count, d.byte_size, d.job_id::text, d.created_at, d.updated_at`

// store writes the document and its job and queues the work, in one transaction.
func (s *Service) store(ctx context.Context, id tenant.ID, into index.Index, d newDocument, visible filter.Filter) (stored Document, job Job, err error) {
	h := s.db.Handle(id)
	err = h.Tx(ctx, func(tx *tenant.Tx) error {
		stored, err = upsertDocument(ctx, tx, into.ID, d, visible)
		if errors.Is(err, pgx.ErrNoRows) { // the same bytes and settings
			stored, err = documentByRef(ctx, tx, into.ID, Ref{URI: d.URI}, visible)
			if fault.KindOf(err) == fault.NotFound {
				return fault.New(fault.Denied, "this credential's mandatory filter does not let it write under this uri")
			}
			if err != nil {
				return err
			}
			job, err = jobByID(ctx, tx, stored.JobID, visible)
			return err
		}
		if err != nil {
			return err
		}
		if job, err = replaceJob(ctx, tx, into.Name, stored); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO tenant.document_contents (document_id, content) VALUES ($1, $2)
			ON CONFLICT (document_id) DO UPDATE SET content = excluded.content`, stored.DocumentID, d.content)
		if err != nil {
			return err
		}
		return tx.AsService(ctx, func(tx pgx.Tx) error {
			return s.queue.enqueue(ctx, tx, ingestArgs{
				Tenant: id, JobID: stored.JobID, IndexID: into.ID, DocumentID: stored.DocumentID, Version: stored.Version,
			})
		})
	})
	return stored, job, err
}

// upsertDocument inserts the document or makes it the next version of the one
// with its uri. It returns pgx.ErrNoRows when that one has the same content and
// has not failed, and when the filter hides it.
func upsertDocument(ctx context.Context, tx *tenant.Tx, indexID int64, d newDocument, visible filter.Filter) (Document, error) {
	args := filter.NewArgs(d.DocumentID, indexID, d.URI, d.Title, d.ContentType, d.Metadata, d.chunking, d.ContentHash, d.ByteSize, d.JobID)
	return tenant.Get[Document](ctx, tx, `
		INSERT INTO tenant.documents AS d
			(document_id, index_id, uri, title, content_type, metadata, chunking, content_hash, version, status, byte_size, job_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, 'pending', $9, $10)
		ON CONFLICT (index_id, uri) DO UPDATE SET
			title = excluded.title, content_type = excluded.content_type, metadata = excluded.metadata,
			chunking = excluded.chunking, content_hash = excluded.content_hash, byte_size = excluded.byte_size,
			job_id = excluded.job_id, version = d.version + 1, status = 'pending', error = '', updated_at = now()
		WHERE (d.content_hash <> excluded.content_hash OR d.status = 'failed') AND `+visible.SQL("d.metadata", args)+`
		RETURNING `+documentColumns, args.Values()...)
}

// replaceJob adds the job of a document's new version and ends those of older
// versions.
func replaceJob(ctx context.Context, tx *tenant.Tx, indexName string, d Document) (Job, error) {
	if d.Version > 1 {
		_, err := tx.Exec(ctx, `
			UPDATE tenant.jobs SET status = 'cancelled', error = 'replaced by a newer version', updated_at = now()
			WHERE document_id = $1 AND status IN ('queued', 'running')`, d.DocumentID)
		if err != nil {
			return Job{}, err
		}
	}
	return tenant.Get[Job](ctx, tx, `
		INSERT INTO tenant.jobs AS j (job_id, kind, status, index_name, document_id, unit)
		VALUES ($1, 'ingest', 'queued', $2, $3, 'chunks')
		RETURNING `+jobColumns, d.JobID, indexName, d.DocumentID)
}

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
	return "d.uri = " + args.Add(ref.URI)
}

// documentPosition is the sort key of a list of documents: oldest first.
type documentPosition struct {
	CreatedAt  time.Time `json:"t"`
	DocumentID string    `json:"id"`
}

func documents(ctx context.Context, q tenant.Queryer, indexID int64, f filter.Filter, after documentPosition, limit int) ([]Document, error) {
	if after.DocumentID == "" {
		after.DocumentID = "00000000-0000-0000-0000-000000000000"
	}
	args := filter.NewArgs(indexID, after.CreatedAt, after.DocumentID, limit)
	return tenant.Select[Document](ctx, q, `
		SELECT `+documentColumns+` FROM tenant.documents AS d
		WHERE d.index_id = $1 AND (d.created_at, d.document_id) > ($2, $3::uuid) AND `+f.SQL("d.metadata", args)+`
		ORDER BY d.created_at, d.document_id LIMIT $4`, args.Values()...)
}

// deleteDocument removes a document with its chunks and ends its job. The row
// goes first: a worker that writes the same document takes its lock first too.
func deleteDocument(ctx context.Context, tx *tenant.Tx, indexID int64, ref Ref, visible filter.Filter) error {
	args := filter.NewArgs(indexID)
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
	if _, err := tx.OfIndex(indexID).Exec(ctx, `DELETE FROM tenant.chunk WHERE document_id = $1`, deleted); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE tenant.jobs SET status = 'cancelled', error = 'the document was deleted', updated_at = now()
		WHERE document_id = $1 AND status IN ('queued', 'running')`, deleted)
	return err
}

// chunks returns up to limit chunks of a document from the ordinal after the
// given one.
func chunks(ctx context.Context, q tenant.Queryer, documentID string, f filter.Filter, after, limit int) ([]Chunk, error) {
	args := filter.NewArgs(documentID, after, limit)
	return tenant.Select[Chunk](ctx, q, `
		SELECT c.chunk_id, c.document_id::text, c.ordinal, c.text, c.metadata, c.start_byte, c.end_byte, c.token_count
		FROM tenant.chunk AS c
		WHERE c.document_id = $1 AND c.ordinal > $2 AND `+f.SQL("c.metadata", args)+`
		ORDER BY c.ordinal LIMIT $3`, args.Values()...)
}
