package ingest

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/parse"
	"github.com/ragdhq/ragd/internal/tenant"
)

// workDocument is what a worker needs of a document.
type workDocument struct {
	URI            string
	Title          string
	ContentType    string
	Metadata       map[string]any
	Chunking       map[string]any
	Status         string
	ChunkCount     int
	IndexID        int64
	EmbeddingModel string
	Dimension      int
	Metric         index.Metric
	IndexConfig    index.Config
	TextLanguage   string
	VectorType     index.VectorType
	ByteSize       int64
	Content        []byte // of a large document, its first part
}

// index returns what is known of the document's index.
func (d workDocument) index() index.Index {
	return index.Index{
		ID: d.IndexID, EmbeddingModel: d.EmbeddingModel, Dimension: d.Dimension, Metric: d.Metric, Config: d.IndexConfig,
		TextLanguage: d.TextLanguage, VectorType: d.VectorType,
	}
}

func (d workDocument) file() file {
	return file{
		Source:   parse.Source{Content: d.Content, ContentType: d.ContentType, FileName: d.URI},
		Chunking: d.Chunking,
	}
}

// begin marks the job as running and reads the version of the document that it
// is about, in one round trip. A document that is ready stays ready. It returns
// errOvertaken when that version is not the current one.
func begin(ctx context.Context, h *tenant.Handle, args ingestArgs, attempt int) (d workDocument, err error) {
	b := h.Batch()
	b.Exec(`
		UPDATE tenant.documents SET status = 'processing', updated_at = now()
		WHERE document_id = $1 AND version = $2 AND status IN ('pending', 'failed')`, args.DocumentID, args.Version)
	b.Exec(`
		UPDATE tenant.jobs SET status = 'running', attempts = $2, updated_at = now()
		WHERE job_id = $1 AND status IN ('queued', 'running')`, args.JobID, attempt)
	b.Query(func(rows pgx.Rows) error {
		d, err = pgx.CollectOneRow(rows, pgx.RowToStructByName[workDocument])
		if errors.Is(err, pgx.ErrNoRows) {
			err = errOvertaken
		}
		return err
	}, `
		SELECT d.uri, d.title, d.content_type, d.metadata, d.chunking, d.status, d.chunk_count, i.index_id, i.embedding_model, i.dimension, i.metric, i.index_config, i.text_language,
			i.vector_type, d.byte_size, c.content
		FROM tenant.documents AS d
		JOIN tenant.indexes AS i USING (index_id)
		JOIN tenant.document_contents AS c ON c.document_id = d.document_id AND c.part = 0
		WHERE d.document_id = $1 AND d.version = $2`, args.DocumentID, args.Version)
	return d, b.Run(ctx)
}

// progress says how far the job is. It returns errOvertaken when the job has ended:
// it was cancelled, or its document is gone.
func progress(ctx context.Context, h *tenant.Handle, jobID string, done, total int) error {
	n, err := h.Exec(ctx, `
		UPDATE tenant.jobs SET done = $2, total = $3, updated_at = now()
		WHERE job_id = $1 AND status = 'running'`, jobID, done, total)
	if err == nil && n == 0 {
		return errOvertaken
	}
	return err
}

// swap replaces the document's chunks by those of the new version. Readers see the old ones or the new ones, never both and never neither.
func swap(ctx context.Context, h *tenant.Handle, args ingestArgs, d workDocument, chunks []chunk.Chunk, embeddings [][]float32) error {
	return h.Tx(ctx, func(tx *tenant.Tx) error {
		// The document's row is locked first, as by all who change its chunks.
		n, err := tx.Exec(ctx, `
			UPDATE tenant.documents SET status = 'ready', error = '', chunk_count = $3, title = $4, updated_at = now()
			WHERE document_id = $1 AND version = $2 AND status = 'processing'`, args.DocumentID, args.Version, len(chunks), d.Title)
		if err != nil {
			return err
		}
		if n == 0 {
			return errOvertaken
		}
		if args.Version > 1 {
			if _, err := tx.Exec(ctx, `DELETE FROM tenant.chunk WHERE document_id = $1`, args.DocumentID); err != nil {
				return err
			}
		}
		if _, err := tx.CopyFrom(ctx, chunkColumns, chunkRows(args.DocumentID, d, chunks, embeddings)); err != nil {
			return err
		}
		return index.MaintainIfDue(ctx, river.ClientFromContext[pgx.Tx](ctx), tx, args.Tenant, args.IndexID)
	})
}

// finish ends the job, unless someone else has.
func finish(ctx context.Context, h *tenant.Handle, args ingestArgs, chunks int) error {
	_, err := h.Exec(ctx, `
		UPDATE tenant.jobs SET status = 'succeeded', error = '', done = $2, total = $2, updated_at = now()
		WHERE job_id = $1 AND status IN ('queued', 'running')`, args.JobID, chunks)
	return err
}

var chunkColumns = []string{
	"chunk_id", "document_id", "ordinal", "title", "text", "metadata", "start_byte", "end_byte", "token_count", "embedding",
}

func chunkRows(documentID string, d workDocument, chunks []chunk.Chunk, embeddings [][]float32) pgx.CopyFromSource {
	into := d.index()
	return pgx.CopyFromSlice(len(chunks), func(i int) ([]any, error) {
		c := chunks[i]
		return []any{
			documentID + ":" + strconv.Itoa(i), documentID, i, d.Title, c.Text, merged(d.Metadata, c.Metadata),
			c.StartByte, c.EndByte, c.TokenCount, into.Column(embeddings[i]),
		}, nil
	})
}

// merged returns the document's metadata overridden by the chunk's.
func merged(document, chunk map[string]any) map[string]any {
	if len(chunk) == 0 {
		return document
	}
	out := make(map[string]any, len(document)+len(chunk))
	for key, value := range document {
		out[key] = value
	}
	for key, value := range chunk {
		out[key] = value
	}
	return out
}

// recordFailure writes what the caller may know of a failed attempt.
func recordFailure(ctx context.Context, h *tenant.Handle, args ingestArgs, reason string, final bool) error {
	document, job := DocumentPending, JobQueued
	if final {
		document, job = DocumentFailed, JobFailed
	}
	b := h.Batch()
	b.Exec(`
		UPDATE tenant.documents SET status = $3, error = $4, updated_at = now()
		WHERE document_id = $1 AND version = $2 AND status = 'processing'`, args.DocumentID, args.Version, document, reason)
	b.Exec(`
		UPDATE tenant.jobs SET status = $2, error = $3, updated_at = now()
		WHERE job_id = $1 AND status = 'running'`, args.JobID, job, reason)
	return b.Run(ctx)
}
