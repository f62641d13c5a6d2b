package ingest

import (
	"context"
	"maps"
	"time"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// storedUpload is the outcome of an upload.
type storedUpload struct {
	document  Document
	job       job.Job
	unchanged bool // the same content was stored before
	err       error
}

// storeAll is storeFenced without a fence.
func (s *Service) storeAll(ctx context.Context, id tenant.ID, into index.Index, docs []newDocument, visible filter.Filter) ([]storedUpload, error) {
	return s.storeFenced(ctx, id, into, docs, visible, nil)
}

// storeFenced stores documents of one index with different names, their jobs and their rows
// in the backlog, in one transaction. On error none is stored.
func (s *Service) storeFenced(ctx context.Context, id tenant.ID, into index.Index, docs []newDocument, visible filter.Filter, fence Fence) ([]storedUpload, error) {
	h := s.db.Handle(id)
	unchanged, err := unchangedDocuments(ctx, h, into, docs, visible)
	if err != nil {
		return nil, err
	}
	if err := nameContents(ctx, h, docs, unchanged); err != nil {
		return nil, err
	}
	stored := unchanged
	changed, err := s.admit(ctx, id, docs, unchanged)
	if err != nil {
		return nil, err
	}
	if len(changed) > 0 {
		if err := h.Admit(ctx, totalBytes(changed)); err != nil {
			return nil, err
		}
		err = h.TxOvertaking(ctx, func(tx *data.Tx) error {
			if err := fence.check(ctx, tx); err != nil {
				return err
			}
			stored, err = s.storeChanged(ctx, tx, id, into, changed, visible)
			return err
		})
		if err != nil {
			return nil, err
		}
		s.backlog.Wake(id)
		s.renewStatistics(ctx, h, id, len(changed))
		maps.Copy(stored, unchanged)
	}
	out := make([]storedUpload, len(docs))
	for i, d := range docs {
		out[i] = stored[d.name()]
	}
	return out, nil
}

func totalBytes(docs []newDocument) (bytes int64) {
	for _, d := range docs {
		bytes += d.ByteSize
	}
	return bytes
}

// admit returns the new or changed documents that the backlog has capacity for. For each
// document over the tenant's limits it adds an error to unchanged.
func (s *Service) admit(ctx context.Context, id tenant.ID, docs []newDocument, unchanged map[name]storedUpload) (changed []newDocument, err error) {
	for _, d := range docs {
		if unchanged[d.name()].job.JobID != "" {
			continue
		}
		if err := s.backlog.Refresh(ctx, id); err != nil {
			return nil, err
		}
		if err := s.backlog.Admit(id, d.ByteSize); err != nil {
			unchanged[d.name()] = storedUpload{err: err}
			continue
		}
		changed = append(changed, d)
	}
	return changed, nil
}

// storeChanged stores documents that admit considers new or changed. It returns their
// outcomes by name.
func (s *Service) storeChanged(ctx context.Context, tx *data.Tx, id tenant.ID, into index.Index, docs []newDocument, visible filter.Filter) (map[name]storedUpload, error) {
	if err := index.LockForUpload(ctx, tx, into.ID); err != nil {
		return nil, err
	}
	stored := make(map[name]storedUpload, len(docs))
	docs, err := withinQuota(ctx, tx, into, docs, stored)
	if err != nil || len(docs) == 0 {
		return stored, err
	}
	written, err := upsertDocuments(ctx, tx, into.ID, docs, visible)
	if err != nil {
		return nil, err
	}
	if err := replaceJobs(ctx, tx, into.Name, written...); err != nil {
		return nil, err
	}
	var waiting []backlog.Document
	for _, d := range written {
		stored[d.name()] = storedUpload{document: d, job: d.queuedJob(into.Name)}
		waiting = append(waiting, d.waiting(id, into.ID))
	}
	if len(written) < len(docs) { // the same content was just stored by another call, or the filter hides the stored document
		rest, err := unchangedDocuments(ctx, tx, into, docs, visible)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if _, ok := stored[d.name()]; ok {
				continue
			}
			found, ok := rest[d.name()]
			if !ok {
				found.err = fault.New(fault.Denied, "this credential's mandatory filter does not let it write under this uri")
			}
			stored[d.name()] = found
		}
	}
	if len(waiting) == 0 {
		return stored, nil
	}
	return stored, s.backlog.Enqueue(ctx, tx, waiting...)
}

// unchangedDocuments returns, by name, the documents that are stored with the same content,
// have not failed, lack nothing, and are visible through the filter. The subquery with OFFSET makes
// PostgreSQL look each name up by key, even with wrong statistics of the table; for
// conditions on arrays it may read all documents of the index.
func unchangedDocuments(ctx context.Context, q data.Queryer, into index.Index, docs []newDocument, visible filter.Filter) (map[name]storedUpload, error) {
	namespaces, uris, hashes := make([]string, len(docs)), make([]string, len(docs)), make([]string, len(docs))
	for i, d := range docs {
		namespaces[i], uris[i], hashes[i] = d.Namespace, d.URI, d.ContentHash
	}
	args := filter.NewArgs(into.ID, namespaces, uris, hashes)
	found, err := data.Select[Document](ctx, q, `
		SELECT `+documentColumns+`
		FROM unnest($2::text[], $3::text[], $4::text[]) AS given (namespace, uri, content_hash)
		CROSS JOIN LATERAL (
			SELECT * FROM tenant.documents AS d
			WHERE d.index_id = $1 AND d.namespace = given.namespace AND d.uri = given.uri AND d.content_hash = given.content_hash
				AND d.status NOT IN ('failed', 'needs_ocr') AND NOT (d.status = 'ready' AND `+noticeSQL+` <> '') AND `+visible.SQL("d.metadata", args)+`
			OFFSET 0
		) AS d`, args.Values()...)
	if err != nil || len(found) == 0 {
		return map[name]storedUpload{}, err
	}
	jobIDs := make([]string, len(found))
	for i, d := range found {
		jobIDs[i] = d.JobID
	}
	jobs, err := job.ByID(ctx, q, jobIDs)
	if err != nil {
		return nil, err
	}
	out := make(map[name]storedUpload, len(found))
	for _, d := range found {
		if j, ok := jobs[d.JobID]; ok { // a missing job: the document was uploaded again between the two queries
			out[d.name()] = storedUpload{document: d, job: j, unchanged: true}
		}
	}
	return out, nil
}

// upsertDocuments inserts documents with their contents, each as the next version if its
// name exists, and returns the rows that it wrote. It skips documents that are stored with
// the same content, have not failed and lack nothing, and names whose stored document the filter hides.
func upsertDocuments(ctx context.Context, tx *data.Tx, indexID int64, docs []newDocument, visible filter.Filter) ([]Document, error) {
	var ids, namespaces, uris, titles, types, hashes, jobs []string
	var sums [][]byte
	var metadata []map[string]any
	var chunking []chunk.Settings
	var extracts []*extract.Settings
	var sizes []int64
	var fingerprints []string
	for _, d := range docs {
		ids, uris, titles, types = append(ids, d.DocumentID), append(uris, d.URI), append(titles, d.Title), append(types, d.ContentType)
		metadata, chunking, hashes = append(metadata, d.Metadata), append(chunking, d.chunking), append(hashes, d.ContentHash)
		sizes, jobs, fingerprints = append(sizes, d.ByteSize), append(jobs, d.JobID), append(fingerprints, d.Fingerprint)
		namespaces, extracts, sums = append(namespaces, d.Namespace), append(extracts, d.extract), append(sums, d.ContentSHA256)
	}
	args := filter.NewArgs(indexID, ids, uris, titles, types, metadata, chunking, hashes, sizes, jobs, fingerprints, extracts, namespaces, sums)
	if tx.Distributed() {
		args.Constants()
	}
	rows, err := data.Select[writtenDocument](ctx, tx, `
		INSERT INTO tenant.documents AS d
			(document_id, index_id, uri, title, content_type, metadata, chunking, content_hash, version, status, byte_size, job_id, fingerprint, extract, namespace, content_sha256)
		SELECT given.document_id, $1, given.uri, given.title, given.content_type, given.metadata, given.chunking,
			given.content_hash, 1, 'pending', given.byte_size, given.job_id, given.fingerprint, given.extract, given.namespace, given.content_sha256
		FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::jsonb[], $7::jsonb[], $8::text[], $9::bigint[], $10::uuid[], $11::text[], $12::jsonb[], $13::text[], $14::bytea[])
			AS given (document_id, uri, title, content_type, metadata, chunking, content_hash, byte_size, job_id, fingerprint, extract, namespace, content_sha256)
		ORDER BY given.namespace COLLATE "C", given.uri COLLATE "C" -- so that those who store the same wait for each other and never in a circle
		ON CONFLICT (index_id, namespace, uri) DO UPDATE SET
			title = excluded.title, content_type = excluded.content_type, metadata = excluded.metadata,
			chunking = excluded.chunking, content_hash = excluded.content_hash, content_sha256 = excluded.content_sha256, byte_size = excluded.byte_size,
			text_bytes = CASE WHEN d.text_stored AND d.metadata = excluded.metadata THEN d.text_bytes END, -- others may see the new version than saw the old one
			job_id = excluded.job_id, fingerprint = excluded.fingerprint, extract = excluded.extract, version = d.version + 1, status = 'pending', error = '', updated_at = excluded.updated_at
		WHERE (d.content_hash <> excluded.content_hash OR d.status IN ('failed', 'needs_ocr') OR d.status = 'ready' AND `+noticeSQL+` <> '') AND `+visible.SQL("d.metadata", args)+`
		RETURNING d.document_id::text, d.namespace, d.uri, d.version, d.chunk_count, d.created_at, d.updated_at`, args.Values()...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	given := make(map[name]newDocument, len(docs))
	for _, d := range docs {
		given[d.name()] = d
	}
	written := make([]Document, len(rows))
	for i, row := range rows {
		written[i] = row.document(given[name{row.Namespace, row.URI}].Document)
	}
	return written, storeContents(ctx, tx, given, written)
}

// writtenDocument is what a caller of upsertDocuments does not know of a row that it wrote.
type writtenDocument struct {
	DocumentID           string
	Namespace, URI       string
	Version, ChunkCount  int
	CreatedAt, UpdatedAt time.Time
}

// document returns the document that was written.
func (w writtenDocument) document(given Document) Document {
	given.DocumentID, given.Version, given.ChunkCount, given.Status = w.DocumentID, w.Version, w.ChunkCount, DocumentPending
	given.CreatedAt, given.UpdatedAt = w.CreatedAt, w.UpdatedAt
	return given
}

// nameContents stores new fingerprints for documents whose content is unchanged.
func nameContents(ctx context.Context, h *data.Handle, docs []newDocument, unchanged map[name]storedUpload) error {
	var ids, hashes, fingerprints []string
	for _, d := range docs {
		if known, ok := unchanged[d.name()]; ok && known.document.Fingerprint != d.Fingerprint {
			ids, hashes, fingerprints = append(ids, known.document.DocumentID), append(hashes, d.ContentHash), append(fingerprints, d.Fingerprint)
			known.document.Fingerprint = d.Fingerprint
			unchanged[d.name()] = known
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := h.Exec(ctx, `
		UPDATE tenant.documents AS d SET fingerprint = given.fingerprint
		FROM unnest($1::uuid[], $2::text[], $3::text[]) AS given (document_id, content_hash, fingerprint)
		WHERE d.document_id = given.document_id AND d.content_hash = given.content_hash`, ids, hashes, fingerprints)
	return err
}
