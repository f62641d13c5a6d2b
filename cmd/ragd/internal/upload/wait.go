package upload

import (
	"context"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

const (
	// The pause between polls is this fraction of the time waited so far, within these
	// bounds: a short run ends soon, a long one costs the service few calls.
	pollFraction = 0.05
	firstPoll    = 50 * time.Millisecond
	longestPoll  = time.Second
	// A sweep costs one call for each thousand jobs. While the index is busy there is at
	// least this interval between sweeps, and they take at most this fraction of the time.
	sweepInterval = 5 * time.Second
	firstSweep    = time.Second // shows early that a provider does not answer
	sweepFraction = 0.05
	// Up to fewJobs jobs are swept more often, as one call lists them.
	fewJobs          = 5
	fewSweepInterval = time.Second
	pageSize         = 1000
)

// wait returns when every open job has ended. It polls the index, at a cost that does not
// depend on the number of documents. It sweeps the jobs when the index has no pending
// documents, and from time to time before: uploads of other clients may keep the index
// busy.
func (r *run) wait(ctx context.Context) error {
	r.step(func() {
		r.progress.Sent, r.progress.Jobs, r.progress.Waiting = true, len(r.open), len(r.open)
	})
	interval := sweepInterval
	if len(r.open) <= fewJobs {
		interval = fewSweepInterval
	}
	begun := time.Now()
	nextSweep := begun.Add(firstSweep)
	for len(r.open) > 0 {
		pause := time.Duration(float64(time.Since(begun)) * pollFraction)
		select {
		case <-time.After(min(max(pause, firstPoll), longestPoll)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pending, err := r.pending(ctx)
		if err != nil {
			return err
		}
		if pending == 0 || time.Now().After(nextSweep) {
			start := time.Now()
			if err := r.sweep(ctx); err != nil {
				return err
			}
			took := time.Since(start)
			nextSweep = time.Now().Add(max(interval, time.Duration(float64(took)/sweepFraction)))
		}
		r.step(func() { r.progress.Waiting = min(len(r.open), pending) })
	}
	return nil
}

// pending returns the number of the index's documents that wait or are being processed.
func (r *run) pending(ctx context.Context) (int, error) {
	var index *ragdv1.Index
	err := Retry(ctx, r.cfg.Retrying, func(ctx context.Context) (err error) {
		index, err = r.client.Indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: r.cfg.Index})
		return err
	})
	return int(index.GetPendingDocumentCount()), err
}

// inWork sums up the jobs that have not ended.
type inWork struct {
	chunks, done int
	reading      int
	trouble      string
	troubled     int
}

// add counts a job.
func (w *inWork) add(job *ragdv1.Job) {
	w.chunks += int(job.GetProgress().GetTotal())
	w.done += int(job.GetProgress().GetDone())
	if job.GetStatus() == jobRunning && job.GetProgress().GetTotal() == 0 {
		w.reading++
	}
	if why := job.GetError(); why != "" {
		w.trouble = why
		w.troubled++
	}
}

// sweep settles the open jobs that have ended and sums up the others. It lists jobs,
// newest first, until they are older than the oldest open job.
func (r *run) sweep(ctx context.Context) error {
	var others inWork
	// missing holds the open jobs that the list lacks or shows as cancelled.
	missing := make(map[string]bool, len(r.open))
	for id := range r.open {
		missing[id] = true
	}
	req := &ragdv1.ListJobsRequest{PageSize: pageSize}
	for len(missing) > 0 {
		var page *ragdv1.ListJobsResponse
		err := Retry(ctx, r.cfg.Retrying, func(ctx context.Context) (err error) {
			page, err = r.client.Documents.ListJobs(ctx, req)
			return err
		})
		if err != nil {
			return err
		}
		for _, job := range page.GetJobs() {
			if job.GetStatus() != jobCancelled {
				delete(missing, job.GetJobId())
			}
			docs, ok := r.open[job.GetJobId()]
			switch {
			case !ok:
			case r.settle(job, docs...):
				r.result.addExtraction(job)
				delete(r.open, job.GetJobId())
			default:
				others.add(job)
			}
		}
		req.PageToken = page.GetNextPageToken()
		if req.PageToken == "" || r.older(page.GetJobs()) {
			break
		}
	}
	r.step(func() {
		r.progress.Chunks, r.progress.ChunksDone, r.progress.Reading = others.chunks, others.done, others.reading
		r.progress.Trouble, r.progress.Troubled = others.trouble, others.troubled
	})
	for id := range missing {
		if err := r.settleDocument(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// older reports whether the last of jobs was created before the oldest open job.
func (r *run) older(jobs []*ragdv1.Job) bool {
	if len(jobs) == 0 || r.oldest.IsZero() {
		return false
	}
	created := jobs[len(jobs)-1].GetCreateTime()
	return created != nil && created.AsTime().Before(r.oldest)
}

// settleDocument settles an open job that was cancelled, or is no longer listed, from the
// state of its document.
func (r *run) settleDocument(ctx context.Context, jobID string) error {
	docs := r.open[jobID]
	req := &ragdv1.GetDocumentRequest{IndexName: r.cfg.Index, Namespace: r.cfg.Namespace, Uri: docs[0].uri}
	var found *ragdv1.Document
	err := Retry(ctx, r.cfg.Retrying, func(ctx context.Context) (err error) {
		found, err = r.client.Documents.GetDocument(ctx, req)
		return err
	})
	job := &ragdv1.Job{Error: found.GetError()}
	switch {
	case connect.CodeOf(err) == connect.CodeNotFound:
		job.Status, job.Error = jobFailed, "was deleted while it was processed"
	case err != nil:
		return err
	case found.GetStatus() == "ready":
		job.Status = jobSucceeded
	case found.GetStatus() == "failed":
		job.Status = jobFailed
	}
	if r.settle(job, docs...) {
		delete(r.open, jobID)
	}
	return nil
}
