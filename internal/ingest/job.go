package ingest

import (
	"context"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Runners returns the registry entry that cancels and retries ingest jobs. The backlog runs
// the jobs, with Worker.Process.
func (s *Service) Runners() job.Registry {
	return job.Registry{job.Ingest: {Cancel: s.cancelJob, Retry: s.retryJob}}
}

// cancelJob cancels an ingest job and increments the version of its document, so that a
// worker that still processes the old version cannot store it. Errors: Precondition when
// it is too late.
func (s *Service) cancelJob(ctx context.Context, id tenant.ID, j job.Job) error {
	defer s.backlog.Recount(id)
	return s.db.Handle(id).TxOvertaking(ctx, func(tx *data.Tx) error {
		n, err := tx.Exec(ctx, `
			UPDATE tenant.documents SET status = 'failed', error = 'its processing was cancelled', version = version + 1, updated_at = now()
			WHERE document_id = $1 AND job_id = $2 AND status IN ('pending', 'processing')`, *j.DocumentID, j.JobID)
		if err != nil {
			return err
		}
		if n == 0 { // a new version or a deletion ended it, or the document is ready already
			return fault.New(fault.Precondition, "job %q is ending: it is too late to cancel it", j.JobID)
		}
		if err := job.Cancel(ctx, tx, j.JobID, job.CancelledOnRequest); err != nil {
			return err
		}
		return backlog.Leave(ctx, tx, []string{*j.DocumentID})
	})
}

// retryJob makes the document's stored content its next version and returns the id of
// the new job. Errors: Precondition when the document was uploaded again or deleted.
func (s *Service) retryJob(ctx context.Context, id tenant.ID, failed job.Job) (jobID string, err error) {
	err = s.db.Handle(id).Tx(ctx, func(tx *data.Tx) error {
		d, err := reviveDocument(ctx, tx, failed)
		if err != nil {
			return err
		}
		jobID = d.JobID
		if err := replaceJobs(ctx, tx, failed.IndexName, d.Document); err != nil {
			return err
		}
		return s.backlog.Enqueue(ctx, tx, d.waiting(id, d.IndexID))
	})
	if err == nil {
		s.backlog.Wake(id)
	}
	return jobID, err
}

// waiting returns the document as the backlog stores it.
func (d Document) waiting(id tenant.ID, indexID int64) backlog.Document {
	return backlog.Document{Tenant: id, JobID: d.JobID, IndexID: indexID, DocumentID: d.DocumentID, Version: d.Version, Bytes: d.ByteSize}
}

type revivedDocument struct {
	Document
	IndexID int64
}

// reviveDocument gives the document of a failed job a new version and a new job id.
// Errors: Precondition when the job is not the document's last one.
func reviveDocument(ctx context.Context, tx *data.Tx, failed job.Job) (revivedDocument, error) {
	found, err := data.Select[revivedDocument](ctx, tx, `
		UPDATE tenant.documents AS d SET status = 'pending', error = '', version = d.version + 1, job_id = $3, updated_at = now()
		WHERE d.document_id = $1 AND d.job_id = $2 AND d.status IN ('failed', 'needs_ocr')
		RETURNING d.index_id, `+documentColumns, *failed.DocumentID, failed.JobID, uuid.Must(uuid.NewV7()).String())
	if err != nil {
		return revivedDocument{}, err
	}
	if len(found) == 0 {
		return revivedDocument{}, fault.New(fault.Precondition, "the document of job %q was uploaded again or deleted since: there is nothing left to try", failed.JobID)
	}
	return found[0], nil
}

// replaceJobs queues the jobs of documents' new versions and cancels those of older
// versions.
func replaceJobs(ctx context.Context, tx *data.Tx, indexName string, docs ...Document) error {
	var ids, documents, older []string
	for _, d := range docs {
		ids, documents = append(ids, d.JobID), append(documents, d.DocumentID)
		if d.Version > 1 {
			older = append(older, d.DocumentID)
		}
	}
	if len(older) > 0 {
		if _, err := job.CancelDocuments(ctx, tx, older, "replaced by a newer version"); err != nil {
			return err
		}
	}
	return job.InsertIngest(ctx, tx, indexName, ids, documents)
}

// queuedJob returns the job of a document that was just stored.
func (d Document) queuedJob(indexName string) job.Job {
	return job.Job{
		JobID: d.JobID, Kind: job.Ingest, Status: job.Queued, IndexName: indexName, DocumentID: &d.DocumentID,
		Unit: job.IngestUnit, CreatedAt: d.UpdatedAt, UpdatedAt: d.UpdatedAt,
	}
}
