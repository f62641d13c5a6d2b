package job

import (
	"context"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Service lists, watches, cancels and retries the jobs of the calling tenant. A credential with a
// mandatory filter sees only the jobs of documents that the filter selects, and jobs that were
// started with the same filter. A credential that is bound to indexes sees only their jobs. Safe for concurrent use.
type Service struct {
	db      *data.DB
	runners Registry
}

// New returns a Service that cancels and retries jobs with the runners.
func New(db *data.DB, runners Registry) *Service { return &Service{db: db, runners: runners} }

// Get returns a job. Errors: NotFound.
func (s *Service) Get(ctx context.Context, jobID string) (Job, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Job{}, err
	}
	return get(ctx, s.db.Handle(r.Tenant), jobID, r.Principal.MandatoryFilter)
}

// List returns a page of the tenant's jobs, newest first, and the token of the next
// page. An empty status means any. Errors: Invalid naming the field.
func (s *Service) List(ctx context.Context, status string, pageSize int32, pageToken string) ([]Job, string, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	known := []Status{"", Queued, Running, Succeeded, Failed, Cancelled}
	if !slices.Contains(known, Status(status)) {
		return nil, "", fault.Field("status", "unknown status %q; known are queued, running, succeeded, failed and cancelled", status)
	}
	key := func(j Job) *position { return &position{j.CreatedAt, j.JobID} }
	return pagination.List(access.Pages(ctx, "jobs", status), pageSize, pageToken, nil, key, func(after *position, most int) ([]Job, error) {
		return list(ctx, s.db.Handle(r.Tenant), Status(status), r.Principal.MandatoryFilter, after, most)
	})
}

// watchInterval is how often Watch reads the job.
const watchInterval = 250 * time.Millisecond

// Watch sends the job at once and after each change, until the job has ended, send fails or
// ctx ends. Errors: NotFound, those of send.
func (s *Service) Watch(ctx context.Context, jobID string, send func(Job) error) error {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	var sent time.Time
	for {
		j, err := s.Get(ctx, jobID)
		if err != nil {
			return err
		}
		if !j.UpdatedAt.Equal(sent) {
			if err := send(j); err != nil {
				return err
			}
			sent = j.UpdatedAt
		}
		if j.Status.Ended() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// Cancel cancels a queued or running job and returns it. A job that is already cancelled is
// returned unchanged. Errors: NotFound; Precondition for a job that has succeeded or failed,
// or whose kind cannot be cancelled.
func (s *Service) Cancel(ctx context.Context, jobID string) (Job, error) {
	r, err := access.Require(ctx, access.Write)
	if err != nil {
		return Job{}, err
	}
	h, visible := s.db.Handle(r.Tenant), r.Principal.MandatoryFilter
	j, err := get(ctx, h, jobID, visible)
	if err != nil || j.Status == Cancelled {
		return j, err
	}
	if j.Status.Ended() {
		return Job{}, fault.New(fault.Precondition, "job %q has ended as %s: there is nothing to cancel", jobID, j.Status)
	}
	cancel := s.runners[j.Kind].Cancel
	if cancel == nil {
		return Job{}, fault.New(fault.Precondition, "a job of kind %s cannot be cancelled", j.Kind)
	}
	err = cancel(ctx, r.Tenant, j)
	ended, lookErr := get(ctx, h, jobID, visible)
	if err != nil && ended.Status != Cancelled { // if it is Cancelled, another call was faster
		return Job{}, err
	}
	return ended, lookErr
}

// Retry starts the work of a failed or cancelled job again and returns the new job.
// Errors: NotFound; Precondition for a job that has not ended or has succeeded, and when
// there is nothing left to retry.
func (s *Service) Retry(ctx context.Context, jobID string) (Job, error) {
	r, err := access.Require(ctx, access.Write)
	if err != nil {
		return Job{}, err
	}
	h, visible := s.db.Handle(r.Tenant), r.Principal.MandatoryFilter
	j, err := get(ctx, h, jobID, visible)
	if err != nil {
		return Job{}, err
	}
	if j.Status != Failed && j.Status != Cancelled {
		return Job{}, fault.New(fault.Precondition, "job %q is %s: only a failed or cancelled job can be tried again", jobID, j.Status)
	}
	retry := s.runners[j.Kind].Retry
	if retry == nil {
		return Job{}, fault.New(fault.Precondition, "a job of kind %s cannot be tried again: ask for what it did again", j.Kind)
	}
	again, err := retry(ctx, r.Tenant, j)
	if err != nil {
		return Job{}, err
	}
	return get(ctx, h, again, visible)
}
