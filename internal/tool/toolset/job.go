package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// waitArgument is the argument for the seconds that a call may wait for a job to end.
	waitArgument = "waitSeconds"
	// maxWait is below the call's own deadline, so that there is time to answer.
	maxWait = 50 * time.Second
	// maxTaskWait is the same of a call that may take MaxTaskTime.
	maxTaskWait = MaxTaskTime - 10*time.Second
	// maxWaiting limits the concurrently waiting calls per tenant and instance, because
	// each polls its job every second. Further calls are answered at once.
	maxWaiting = 200
	// cancelTimeout bounds the time in which the job of a cancelled task is cancelled.
	cancelTimeout = 5 * time.Second
	// Intervals between polls of a job; they grow from minPoll to maxPoll.
	minPoll, maxPoll = 100 * time.Millisecond, time.Second
)

// progress reports how far a call has come, if the caller wants to know.
type progress struct {
	report  func(context.Context, Progress) // nil if it is not wanted
	patient bool                            // the call may last until its job has ended
	sent    bool
	done    float64 // last value sent
}

type progressKey struct{}

// withProgress returns a context in which a call reports its progress.
func withProgress(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, progressKey{}, &progress{report: c.Progress, patient: c.Patient})
}

// withStages returns a context in which the stages of a query are progress of the call.
func withStages(ctx context.Context) context.Context {
	p := progressOf(ctx)
	if !p.wanted() {
		return query.WithStages(ctx, nil) // not those of the call that makes this one
	}
	return query.WithStages(ctx, func(s query.Stage) {
		p.done++
		message := s.Name
		if s.Candidates > 0 {
			message += ": " + count(int32(s.Candidates), "candidate")
		}
		p.report(ctx, Progress{Done: p.done, Message: message})
	})
}

func progressOf(ctx context.Context) *progress {
	if p, ok := ctx.Value(progressKey{}).(*progress); ok {
		return p
	}
	return &progress{}
}

// wanted reports whether the caller asked for progress.
func (p *progress) wanted() bool { return p.report != nil }

// job reports the progress of a job. Values that are not above the last one are left out:
// the protocol requires progress to grow, and a retried job starts again.
func (p *progress) job(ctx context.Context, job *ragdv1.Job) {
	done := float64(job.GetProgress().GetDone())
	if !p.wanted() || p.sent && done <= p.done {
		return
	}
	now := Progress{Done: done, Message: "The job is " + job.GetStatus() + "."}
	if total := job.GetProgress().GetTotal(); total > 0 {
		now.Total = float64(total)
		now.Message = fmt.Sprintf("%d of %d %s", job.GetProgress().GetDone(), total, job.GetProgress().GetUnit())
	}
	p.report(ctx, now)
	p.sent, p.done = true, done
}

// splitWait removes waitArgument from a call's arguments, because the API does not know
// it, and returns its value. The default is maxTaskWait for a patient call, maxWait for a client
// that wants progress, else 0.
func splitWait(ctx context.Context, arguments accepted) (rest accepted, wait time.Duration, err error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments.json, &given); err != nil {
		return rest, 0, fmt.Errorf("read the arguments: %w", err)
	}
	switch p := progressOf(ctx); {
	case p.patient:
		wait = maxTaskWait
	case p.wanted():
		wait = maxWait
	}
	if raw := given[waitArgument]; raw != nil {
		var seconds float64
		if err := json.Unmarshal(raw, &seconds); err != nil {
			return rest, 0, fault.Field(waitArgument, "must be a number of seconds")
		}
		wait = min(time.Duration(seconds*float64(time.Second)), maxWait)
		delete(given, waitArgument)
	}
	rest.json, err = json.Marshal(given)
	return rest, wait, err
}

// newWaits returns the quota of calls that wait for a job.
func newWaits() *limit.Limiter[tenant.ID] { return limit.New[tenant.ID](0, maxWaiting) }

// waiting wraps a run whose answer has a job: it waits for the job if the call asks for
// that. own says that the call has begun the job, which is cancelled with the call's task.
// refresh updates the answer after the job has changed.
func (s *Set) waiting(run method, own bool, jobOf func(proto.Message) *ragdv1.Job, refresh func(context.Context, proto.Message, *ragdv1.Job) (string, error)) method {
	return func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		began := time.Now()
		rest, wait, err := splitWait(ctx, arguments)
		if err != nil {
			return nil, "", err
		}
		answer, text, err := run(ctx, rest)
		if err != nil || wait == 0 {
			return answer, text, err
		}
		waiter, _ := callerOf(ctx)
		if !s.waits.TryAcquire(waiter, 1) {
			return answer, text, nil
		}
		defer s.waits.Release(waiter, 1)
		job, err := s.await(ctx, jobOf(answer), began.Add(wait))
		if err != nil {
			if own && errors.Is(context.Cause(ctx), ErrTaskCancelled) {
				s.cancelJob(ctx, jobOf(answer))
			}
			return nil, "", err
		}
		if text, err = refresh(ctx, answer, job); err != nil {
			return nil, "", err
		}
		return answer, text, nil
	}
}

// await returns a job once it has ended, or its state at the deadline. If the client
// cancels the call, await stops but the job continues: clients cancel when they lose
// patience or their connection, and the document is stored. Who cancels a task means it.
func (s *Set) await(ctx context.Context, job *ragdv1.Job, deadline time.Time) (*ragdv1.Job, error) {
	p := progressOf(ctx)
	for pause := minPoll; ; pause = min(pause*3/2, maxPoll) {
		p.job(ctx, job)
		left := time.Until(deadline)
		if ended(job) || left <= 0 {
			return job, nil
		}
		select {
		case <-time.After(min(pause, left)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		now, err := s.api.GetJob(ctx, &ragdv1.GetJobRequest{JobId: job.GetJobId()})
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return job, nil // the last known state is more useful than the error
		}
		job = now
	}
}

// cancelJob cancels a job whose task was cancelled. One that has ended stays as it is.
func (s *Set) cancelJob(ctx context.Context, job *ragdv1.Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	if _, err := s.api.CancelJob(ctx, &ragdv1.CancelJobRequest{JobId: job.GetJobId()}); err != nil && fault.KindOf(err) != fault.Precondition {
		s.log.WarnContext(ctx, "cancel the job of a task", "job", job.GetJobId(), "err", err)
	}
}

func ended(job *ragdv1.Job) bool {
	return slices.Contains([]string{"succeeded", "failed", "cancelled"}, job.GetStatus())
}

// upload returns the run of upload_document.
func (s *Set) upload() method {
	return s.waiting(call(s.api.UploadDocument, uploadedText), true,
		func(m proto.Message) *ragdv1.Job { return m.(*ragdv1.UploadDocumentResponse).GetJob() },
		func(ctx context.Context, m proto.Message, job *ragdv1.Job) (string, error) {
			res := m.(*ragdv1.UploadDocumentResponse)
			res.Job = job
			document := res.GetDocument()
			now, err := s.api.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId()})
			if err == nil {
				res.Document = now
			}
			return uploadedText(nil, res), ctx.Err()
		})
}

// getJob returns the run of get_job.
func (s *Set) getJob() method {
	return s.waiting(call(s.api.GetJob, jobText), false,
		func(m proto.Message) *ragdv1.Job { return m.(*ragdv1.Job) },
		func(_ context.Context, m proto.Message, job *ragdv1.Job) (string, error) {
			if m != proto.Message(job) {
				proto.Reset(m)
				proto.Merge(m, job)
			}
			return jobText(nil, job), nil
		})
}
