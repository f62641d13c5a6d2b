package evaluate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// batchSize is how many results are stored at once. An interrupted job asks the questions of
// its last batch again.
const batchSize = 25

// runEvaluation makes one attempt at an evaluation. It continues after the results that are
// stored, and after a turn asks to be called again, so that jobs of other tenants are not
// kept waiting by a long one.
func (s *Service) runEvaluation(ctx context.Context, a job.Attempt) error {
	return s.attempt(ctx, a, "evaluation", s.evaluate)
}

// attempt runs one attempt of a job, whose work returns whether it is done, and records its
// failure.
func (s *Service) attempt(ctx context.Context, a job.Attempt, what string, work func(ctx context.Context, h *data.Handle, a job.Attempt) (done bool, err error)) error {
	h := s.Work.Handle(a.Tenant)
	log := s.Logger.With("tenant", a.Tenant, "job", a.JobID, "attempt", a.Number)
	done, err := work(ctx, h, a)
	var gone *data.GoneError
	switch {
	case err == nil && done:
		log.InfoContext(ctx, what+" ended")
		return nil
	case err == nil:
		return job.Snooze(0)
	case errors.Is(err, job.ErrEnded):
		return job.Stop(err)
	case errors.Is(ctx.Err(), context.Canceled) && !a.Last: // the instance stops
		return job.Snooze(0)
	}
	last := a.Last || fault.Permanent(err) || fault.KindOf(err) == fault.NotFound && !errors.As(err, &gone)
	log.WarnContext(ctx, what+" failed", "err", err)
	return fail(ctx, h, a, err, last)
}

// fail records a failed attempt.
func fail(ctx context.Context, h *data.Handle, a job.Attempt, cause error, last bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := errors.Join(cause, job.FailAttempt(ctx, h, a.JobID, 0, fault.Public(cause), last))
	if last {
		return job.Stop(err)
	}
	return err
}

// evaluate asks questions for one turn, and measures the results when all were asked.
func (s *Service) evaluate(ctx context.Context, h *data.Handle, a job.Attempt) (done bool, err error) {
	e, err := byJob(ctx, h, a.JobID)
	if err != nil {
		return false, err
	}
	if err := job.Begin(ctx, h, a.JobID); err != nil {
		return false, err
	}
	at, err := progressOf(ctx, h, e.ID)
	if err != nil {
		return false, err
	}
	askBatch := s.askBatch
	if e.Settings.Agent != nil {
		askBatch = s.answerBatch
	}
	for began := time.Now(); time.Since(began) < turn; {
		more, err := askBatch(ctx, h, e, &at)
		if err != nil {
			return false, err
		}
		if !more {
			return true, s.conclude(ctx, h, e)
		}
	}
	return false, nil
}

// askBatch asks the next questions and stores their results. It returns false if there was
// none.
func (s *Service) askBatch(ctx context.Context, h *data.Handle, e Evaluation, at *progress) (more bool, err error) {
	questions, err := listQuestions(ctx, h, e.SetName, nil, at.LastID, batchSize)
	if err != nil || len(questions) == 0 {
		return false, err
	}
	var results []Result
	reported := time.Now()
	for _, q := range questions {
		if err := s.wait(ctx); err != nil {
			return false, err
		}
		result, err := s.askOne(ctx, h, e, q)
		if err != nil {
			return false, naming(q, err)
		}
		results = append(results, result)
		if time.Since(reported) > time.Second {
			reported = time.Now()
			if err := s.report(ctx, h, e, at.Done+len(results)); err != nil {
				return false, err
			}
		}
	}
	at.Done, at.Batches, at.LastID = at.Done+len(results), at.Batches+1, questions[len(questions)-1].ID
	return true, h.Tx(ctx, func(tx *data.Tx) error {
		if err := insertResults(ctx, tx, e.ID, at.Batches, results); err != nil {
			return err
		}
		return job.Progress(ctx, tx, e.JobID, at.Done, max(e.Questions, at.Done))
	})
}

// askOne asks a question and measures what comes back.
func (s *Service) askOne(ctx context.Context, h *data.Handle, e Evaluation, q Question) (Result, error) {
	if e.Settings.Tuning != nil {
		return s.askTuning(ctx, h, e, q)
	}
	start := time.Now()
	hits, err := s.ask(ctx, h.Tenant(), e, q.Text)
	if err != nil {
		return Result{}, err
	}
	return resultOf(q, hits, time.Since(start), e.Settings), nil
}

// naming adds the id of a question to the public message of an error.
func naming(q Question, err error) error {
	var public *fault.Error
	if !errors.As(err, &public) {
		return fmt.Errorf("question %s: %w", q.ID, err)
	}
	named := *public
	named.Message, named.Cause = fmt.Sprintf("question %s: %s", q.ID, public.Message), err
	return &named
}

// report stores how many questions have been asked. Errors: job.ErrEnded after a
// cancellation.
func (s *Service) report(ctx context.Context, h *data.Handle, e Evaluation, done int) error {
	return job.Progress(ctx, h, e.JobID, done, max(e.Questions, done))
}

// conclude measures the results of an evaluation and ends its job.
func (s *Service) conclude(ctx context.Context, h *data.Handle, e Evaluation) error {
	results, err := allResults(ctx, h, e.ID)
	if err != nil {
		return err
	}
	for _, r := range results {
		if !r.Answerable {
			e.Unanswerable++
		}
	}
	err = s.Processor.Run(ctx, string(h.Tenant()), func(ctx context.Context) (err error) {
		if e.Settings.Agent != nil {
			e.Estimates, err = measure.AnswerEstimates(ctx, answersOf(results))
		} else {
			e.Estimates, err = measure.Estimates(ctx, plain(results), e.Settings.Ks, e.Settings.MinScore != nil)
		}
		if t := e.Settings.Tuning; t != nil && err == nil {
			e.Outcome, err = t.outcome(ctx, e.SetName, results)
		}
		return err
	})
	if err != nil {
		return err
	}
	s.Logger.DebugContext(ctx, "evaluation measured", slog.Int("questions", len(results)))
	defer s.Indexes.Changed(h, e.IndexName) // a tuning may
	return h.Tx(ctx, func(tx *data.Tx) error {
		if e.Outcome != nil {
			if err := s.adopt(ctx, tx, e); err != nil {
				return err
			}
		}
		return endEvaluation(ctx, tx, e)
	})
}

// plain returns the measures of results.
func plain(results []Result) []measure.Result {
	all := make([]measure.Result, len(results))
	for i, r := range results {
		all[i] = r.Result
	}
	return all
}

// retryEvaluation starts a new job that continues an evaluation, and returns its id.
func (s *Service) retryEvaluation(ctx context.Context, id tenant.ID, failed job.Job) (jobID string, err error) {
	i, err := s.Indexes.Resolve(ctx, id, failed.IndexName)
	if err != nil {
		return "", err
	}
	jobID = uuid.Must(uuid.NewV7()).String()
	err = s.DB.Handle(id).Tx(ctx, func(tx *data.Tx) error {
		e, err := byJob(ctx, tx, failed.JobID)
		if errors.Is(err, job.ErrEnded) {
			return fault.New(fault.Precondition, "the evaluation of job %q was deleted or tried again: start another", failed.JobID)
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE ragd_shared.evaluations SET job_id = $2::uuid WHERE evaluation_id = $1::uuid`, e.ID, jobID); err != nil {
			return err
		}
		return s.enqueueFor(ctx, tx, e.task(), i.ID, job.Start{Kind: job.Evaluate, JobID: jobID, IndexName: i.Name, Unit: "questions"}, e.access)
	})
	return jobID, err
}
