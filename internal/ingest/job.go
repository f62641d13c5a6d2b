package ingest

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/tenant"
)

// CancelJob ends a job that is queued or running and returns it as it is then.
// Cancelling it again changes nothing. Errors: NotFound, Precondition for a job that
// has ended otherwise and for a build that its index cannot do without.
func (s *Service) CancelJob(ctx context.Context, jobID string) (Job, error) {
	r, err := tenant.Require(ctx, tenant.Write)
	if err != nil {
		return Job{}, err
	}
	h, visible := s.db.Handle(r.Tenant), r.Principal.MandatoryFilter
	job, err := jobByID(ctx, h, jobID, visible)
	if err != nil || job.Status == JobCancelled {
		return job, err
	}
	if job.Terminal() {
		return Job{}, fault.New(fault.Precondition, "job %q has ended as %s: there is nothing to cancel", jobID, job.Status)
	}
	if job.DocumentID == nil {
		err = s.indexes.CancelJob(ctx, r.Tenant, job.Kind, jobID)
	} else {
		err = h.TxOvertaking(ctx, func(tx *tenant.Tx) error { return cancelIngest(ctx, tx, job) })
		s.queue.recount(r.Tenant)
	}
	ended, lookErr := jobByID(ctx, h, jobID, visible)
	if err != nil && ended.Status != JobCancelled { // by somebody else, at the same time
		return Job{}, err
	}
	return ended, lookErr
}

// cancelIngest ends an ingest job. Its version of the document is given up, so
// that whatever still works on it is overtaken.
func cancelIngest(ctx context.Context, tx *tenant.Tx, job Job) error {
	n, err := tx.Exec(ctx, `
		UPDATE tenant.documents SET status = 'failed', error = 'its processing was cancelled', version = version + 1, updated_at = now()
		WHERE document_id = $1 AND job_id = $2 AND status IN ('pending', 'processing')`, *job.DocumentID, job.JobID)
	if err != nil {
		return err
	}
	if n == 0 { // it was overtaken, or all but its last step is done
		return fault.New(fault.Precondition, "job %q is ending: it is too late to cancel it", job.JobID)
	}
	_, err = tx.Exec(ctx, `
		UPDATE tenant.jobs SET status = 'cancelled', error = 'cancelled on request', updated_at = now()
		WHERE job_id = $1 AND status IN ('queued', 'running')`, job.JobID)
	if err != nil {
		return err
	}
	return tx.LeaveBacklog(ctx, []string{*job.DocumentID})
}

// RetryJob starts the work of a failed or cancelled job again and returns the new
// job that does it. Errors: NotFound, Precondition for a job that has not ended or
// has succeeded, and when the document was uploaded again since.
func (s *Service) RetryJob(ctx context.Context, jobID string) (Job, error) {
	r, err := tenant.Require(ctx, tenant.Write)
	if err != nil {
		return Job{}, err
	}
	h, visible := s.db.Handle(r.Tenant), r.Principal.MandatoryFilter
	job, err := jobByID(ctx, h, jobID, visible)
	if err != nil {
		return Job{}, err
	}
	if job.Status != JobFailed && job.Status != JobCancelled {
		return Job{}, fault.New(fault.Precondition, "job %q is %s: only a failed or cancelled job can be tried again", jobID, job.Status)
	}
	if job.DocumentID != nil {
		return s.retryIngest(ctx, r.Tenant, job, visible)
	}
	again, err := s.indexes.RetryJob(ctx, job.Kind, job.IndexName)
	if err != nil {
		return Job{}, err
	}
	return jobByID(ctx, h, again, visible)
}

// retryIngest makes the document's stored content its next version.
func (s *Service) retryIngest(ctx context.Context, id tenant.ID, failed Job, visible filter.Filter) (job Job, err error) {
	err = s.db.Handle(id).Tx(ctx, func(tx *tenant.Tx) error {
		d, err := reviveDocument(ctx, tx, failed, visible)
		if err != nil {
			return err
		}
		jobs, err := replaceJobs(ctx, tx, failed.IndexName, d.Document)
		if err != nil {
			return err
		}
		job = jobs[0]
		return tx.AsService(ctx, func(tx pgx.Tx) error {
			return s.queue.enqueue(ctx, tx, ingestArgs{
				Tenant: id, JobID: job.JobID, IndexID: d.IndexID, DocumentID: d.DocumentID, Version: d.Version, Bytes: d.ByteSize,
			})
		})
	})
	if err == nil {
		s.queue.wake()
	}
	return job, err
}

type revivedDocument struct {
	Document
	IndexID int64
}

// reviveDocument gives the document of a job that failed another version and
// another job.
func reviveDocument(ctx context.Context, tx *tenant.Tx, failed Job, visible filter.Filter) (revivedDocument, error) {
	args := filter.NewArgs(*failed.DocumentID, failed.JobID, uuid.Must(uuid.NewV7()).String())
	found, err := tenant.Select[revivedDocument](ctx, tx, `
		UPDATE tenant.documents AS d SET status = 'pending', error = '', version = d.version + 1, job_id = $3, updated_at = now()
		WHERE d.document_id = $1 AND d.job_id = $2 AND d.status = 'failed' AND `+visible.SQL("d.metadata", args)+`
		RETURNING d.index_id, `+documentColumns, args.Values()...)
	if err != nil {
		return revivedDocument{}, err
	}
	if len(found) == 0 {
		return revivedDocument{}, fault.New(fault.Precondition, "the document of job %q was uploaded again or deleted since: there is nothing left to try", failed.JobID)
	}
	return found[0], nil
}
