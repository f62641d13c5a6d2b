package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// store writes documents and their jobs and queues the work, in one transaction
// and as few statements for many documents as for one.
func (s *Service) store(ctx context.Context, id tenant.ID, into index.Index, docs []newDocument, visible filter.Filter) (results []Result, err error) {
	err = s.db.Handle(id).Tx(ctx, func(tx *tenant.Tx) error {
		changed, err := upsertDocuments(ctx, tx, into.ID, docs, visible)
		if err != nil {
			return err
		}
		jobs, err := replaceJobs(ctx, tx, into.Name, changed...)
		if err != nil {
			return err
		}
		found := make(map[string]Result, len(docs))
		work := make([]ingestArgs, len(changed))
		for i, d := range changed {
			found[d.URI] = Result{Document: d, Job: jobs[i]}
			work[i] = ingestArgs{Tenant: id, JobID: d.JobID, IndexID: into.ID, DocumentID: d.DocumentID, Version: d.Version}
		}
		if err := storeContents(ctx, tx, docs, found); err != nil {
			return err
		}
		if err := findUnchanged(ctx, tx, into.ID, docs, found, visible); err != nil {
			return err
		}
		results = resultsOf(docs, found)
		if len(work) == 0 {
			return nil
		}
		return tx.AsService(ctx, func(tx pgx.Tx) error { return s.queue.enqueue(ctx, tx, work...) })
	})
	return results, err
}

func resultsOf(docs []newDocument, found map[string]Result) []Result {
	results := make([]Result, len(docs))
	for i, d := range docs {
		var ok bool
		if results[i], ok = found[d.URI]; !ok {
			results[i].Err = fault.New(fault.Denied, "this credential's mandatory filter does not let it write under this uri")
		}
	}
	return results
}

// upsertDocuments inserts each document or makes it the next version of the one
// with its uri, and returns those that are new or changed. The others are there with
// the same content and have not failed, or the filter hides them.
func upsertDocuments(ctx context.Context, tx *tenant.Tx, indexID int64, docs []newDocument, visible filter.Filter) ([]Document, error) {
	c := columnsOf(docs)
	if c.err != nil {
		return nil, c.err
	}
	args := filter.NewArgs(indexID, c.ids, c.uris, c.titles, c.types, c.metadata, c.chunking, c.hashes, c.sizes, c.jobs, c.fingerprints)
	return tenant.Select[Document](ctx, tx, `
		INSERT INTO tenant.documents AS d
			(document_id, index_id, uri, title, content_type, metadata, chunking, content_hash, version, status, byte_size, job_id, fingerprint)
		SELECT n.document_id::uuid, $1, n.uri, n.title, n.content_type, n.metadata::jsonb, n.chunking::jsonb, n.content_hash, 1, 'pending',
			n.byte_size, n.job_id::uuid, n.fingerprint
		FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[], $11::text[])
			AS n(document_id, uri, title, content_type, metadata, chunking, content_hash, byte_size, job_id, fingerprint)
		-- Whoever writes the same documents takes their locks in the same order.
		ORDER BY n.uri COLLATE "C"
		ON CONFLICT (index_id, uri) DO UPDATE SET
			title = excluded.title, content_type = excluded.content_type, metadata = excluded.metadata,
			chunking = excluded.chunking, content_hash = excluded.content_hash, byte_size = excluded.byte_size,
			job_id = excluded.job_id, fingerprint = excluded.fingerprint,
			version = d.version + 1, status = 'pending', error = '', updated_at = now()
		WHERE (d.content_hash <> excluded.content_hash OR d.status = 'failed') AND `+visible.SQL("d.metadata", args)+`
		RETURNING `+documentColumns, args.Values()...)
}

// columns are documents by column, as unnest takes them.
type columns struct {
	ids, uris, titles, types, metadata, chunking, hashes, jobs, fingerprints []string
	sizes                                                                    []int64
	err                                                                      error
}

func columnsOf(docs []newDocument) *columns {
	c := &columns{}
	for _, d := range docs {
		c.ids, c.uris, c.titles, c.types = append(c.ids, d.DocumentID), append(c.uris, d.URI), append(c.titles, d.Title), append(c.types, d.ContentType)
		c.metadata, c.chunking = append(c.metadata, c.json(d.Metadata)), append(c.chunking, c.json(d.chunking))
		c.hashes, c.sizes, c.jobs = append(c.hashes, d.ContentHash), append(c.sizes, d.ByteSize), append(c.jobs, d.JobID)
		c.fingerprints = append(c.fingerprints, d.Fingerprint)
	}
	return c
}

func (c *columns) json(m map[string]any) string {
	raw, err := json.Marshal(m)
	if err != nil {
		c.err = fmt.Errorf("write the settings of a document: %w", err)
	}
	return string(raw)
}

// replaceJobs adds the jobs of documents' new versions, ends those of older
// versions, and returns the new ones in the order of the documents.
func replaceJobs(ctx context.Context, tx *tenant.Tx, indexName string, docs ...Document) ([]Job, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	var replaced, ids, jobIDs []string
	for _, d := range docs {
		if d.Version > 1 {
			replaced = append(replaced, d.DocumentID)
		}
		ids, jobIDs = append(ids, d.DocumentID), append(jobIDs, d.JobID)
	}
	if len(replaced) > 0 {
		_, err := tx.Exec(ctx, `
			UPDATE tenant.jobs SET status = 'cancelled', error = 'replaced by a newer version', updated_at = now()
			WHERE document_id = ANY($1::text[]::uuid[]) AND status IN ('queued', 'running')`, replaced)
		if err != nil {
			return nil, err
		}
	}
	jobs, err := tenant.Select[Job](ctx, tx, `
		INSERT INTO tenant.jobs AS j (job_id, kind, status, index_name, document_id, unit)
		SELECT n.job_id::uuid, 'ingest', 'queued', $3, n.document_id::uuid, 'chunks'
		FROM unnest($1::text[], $2::text[]) AS n(job_id, document_id)
		RETURNING `+jobColumns, jobIDs, ids, indexName)
	if err != nil {
		return nil, err
	}
	made := jobsByID(jobs)
	for i, id := range jobIDs {
		jobs[i] = made[id]
	}
	return jobs, nil
}

func jobsByID(jobs []Job) map[string]Job {
	out := make(map[string]Job, len(jobs))
	for _, job := range jobs {
		out[job.JobID] = job
	}
	return out
}

// findUnchanged adds the documents that were there before to found, with the jobs
// that made them. What the uploader calls the content now is noted.
func findUnchanged(ctx context.Context, tx *tenant.Tx, indexID int64, docs []newDocument, found map[string]Result, visible filter.Filter) error {
	docs = slices.DeleteFunc(slices.Clone(docs), func(d newDocument) bool { _, changed := found[d.URI]; return changed })
	if len(docs) == 0 {
		return nil
	}
	c := columnsOf(docs)
	args := filter.NewArgs(indexID, c.uris)
	unchanged, err := tenant.Select[Document](ctx, tx, `
		SELECT `+documentColumns+` FROM tenant.documents AS d
		WHERE d.index_id = $1 AND d.uri = ANY($2) AND `+visible.SQL("d.metadata", args), args.Values()...)
	if err != nil {
		return err
	}
	jobIDs := make([]string, len(unchanged))
	for i, d := range unchanged {
		jobIDs[i] = d.JobID
	}
	made, err := tenant.Select[Job](ctx, tx, `SELECT `+jobColumns+` FROM tenant.jobs AS j WHERE j.job_id = ANY($1::text[]::uuid[])`, jobIDs)
	if err != nil {
		return err
	}
	jobs := jobsByID(made)
	for _, d := range unchanged {
		found[d.URI] = Result{Document: d, Job: jobs[d.JobID], Unchanged: true}
	}
	return nameContents(ctx, tx, docs, found)
}

// nameContents notes what the uploader calls the contents that are unchanged.
func nameContents(ctx context.Context, tx *tenant.Tx, docs []newDocument, found map[string]Result) error {
	var ids, fingerprints []string
	for _, d := range docs {
		if known := found[d.URI].Document; known.ContentHash == d.ContentHash && known.Fingerprint != d.Fingerprint {
			ids, fingerprints = append(ids, known.DocumentID), append(fingerprints, d.Fingerprint)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		UPDATE tenant.documents AS d SET fingerprint = n.fingerprint
		FROM unnest($1::text[], $2::text[]) AS n(document_id, fingerprint) WHERE d.document_id = n.document_id::uuid`, ids, fingerprints)
	return err
}
