package evaluate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/notable"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// AgentSettings say how an agent is asked and its answers are measured.
type AgentSettings struct {
	Name  string `json:"name"`
	Judge string `json:"judge,omitempty"` // endpoint/model; empty for none
	// DeclinePattern is a regular expression that matches the answers in which the agent says that
	// it does not know. Empty: the judge decides; without one, answers that cite nothing are taken
	// for such.
	DeclinePattern string `json:"declinePattern,omitempty"`
}

// Answer is the answer of an agent to one question, with its measures.
type Answer struct {
	measure.AnswerResult
	Text    string      `json:"text,omitempty"`  // the first maxAnswerKept bytes
	Error   string      `json:"error,omitempty"` // why there is none; for callers
	Usage   agent.Usage `json:"usage"`
	Verdict *Verdict    `json:"verdict,omitempty"` // nil if no judge was asked

	judging AnswerUsage // of the judge alone
	outage  error       // why an endpoint gave no answer, if another attempt may have more success
}

// AnswerUsage is what an agent and its judge have taken.
type AnswerUsage struct {
	Steps             int64   `json:"steps"`
	ToolCalls         int64   `json:"toolCalls"`
	InputTokens       int64   `json:"inputTokens"`
	OutputTokens      int64   `json:"outputTokens"`
	Cost              float64 `json:"cost"` // by the agent's prices, without the judge
	RemovedCitations  int64   `json:"removedCitations"`
	JudgeCalls        int64   `json:"judgeCalls"`
	JudgeInputTokens  int64   `json:"judgeInputTokens"`
	JudgeOutputTokens int64   `json:"judgeOutputTokens"`
}

func (u *AnswerUsage) add(a Answer) {
	u.Steps += int64(a.Usage.Steps)
	u.ToolCalls += int64(a.Usage.ToolCalls)
	u.InputTokens += int64(a.Usage.InputTokens)
	u.OutputTokens += int64(a.Usage.OutputTokens)
	u.Cost += a.Usage.Cost
	u.RemovedCitations += int64(a.Usage.RemovedCitations)
	u.JudgeCalls += a.judging.JudgeCalls
	u.JudgeInputTokens += a.judging.JudgeInputTokens
	u.JudgeOutputTokens += a.judging.JudgeOutputTokens
}

// Limits of evaluations of agents.
const (
	// maxAgentRuns is how many evaluations of agents of a tenant run at once on an instance.
	maxAgentRuns = 2
	// answersAtOnce is how many questions of an evaluation an agent is asked at once. So many
	// results are stored at once.
	answersAtOnce = 4
	// answerAttempts is how often a question is asked whose model cannot be reached or limits its
	// calls. Each time is waited for as long as the endpoint says, for minAnswerWait to
	// maxAnswerWait.
	answerAttempts = 3
	minAnswerWait  = time.Second
	maxAnswerWait  = time.Minute
	// answersTimeout bounds one turn: attempts at a batch, each of which its agent bounds by 10
	// minutes, and the calls of a judge.
	answersTimeout = 45 * time.Minute
	// slotPause is how long an evaluation waits while too many of its tenant run.
	slotPause = 2 * time.Second
	// watchEvery is the interval at which progress is stored and a cancellation is noticed.
	watchEvery = time.Second

	maxPatternBytes = 1 << 10
	maxAnswerKept   = 4 << 10 // bytes of a stored answer
	maxErrorKept    = 500     // bytes of a stored error
	// answerWeight is as how many results of queries a result of an agent counts in maxResults.
	answerWeight = 10
)

// checkAgent checks the settings of an evaluation of an agent. Errors: Invalid.
func (s *Settings) checkAgent() error {
	switch {
	case s.Agent.Name == "":
		return fault.Field("agent.agentName", "is missing")
	case len(s.Ks) > 0:
		return fault.Field("k", "must be empty for an agent: it is for queries")
	case s.MinScore != nil:
		return fault.Field("minScore", "must be empty for an agent: it is for queries")
	}
	if err := textlimit.Check("agent.declinePattern", s.Agent.DeclinePattern, maxPatternBytes); err != nil {
		return err
	}
	if _, err := schema.Pattern(s.Agent.DeclinePattern); err != nil {
		return fault.Field("agent.declinePattern", "%s", textlimit.OneLine(err.Error(), 200))
	}
	return nil
}

// delegate checks that the caller may ask the agent and that the judge exists, and sets with whose
// rights the agent is asked: those of the caller to read.
func (s *Service) delegate(ctx context.Context, c caller, e *Evaluation) error {
	settings := e.Settings.Agent
	if _, err := s.Agents.Get(ctx, settings.Name); err != nil {
		return err
	}
	if settings.Judge != "" {
		if err := s.Models.Check(ctx, string(c.request.Tenant), settings.Judge); err != nil {
			return fault.Rename("model", "agent.judgeModel", err)
		}
	}
	d, err := s.Auth.Delegate(ctx, c.request)
	if err != nil {
		return err
	}
	d.Scopes = []access.Scope{access.Read}
	e.delegation = &d
	return nil
}

// runAnswers makes one attempt at an evaluation of an agent, as runEvaluation does at others.
func (s *Service) runAnswers(ctx context.Context, a job.Attempt) error {
	if !s.slots.TryAcquire(a.Tenant, 1) {
		return job.Snooze(slotPause)
	}
	defer s.slots.Release(a.Tenant, 1)
	return s.runEvaluation(ctx, a)
}

// answerBatch asks an agent the next questions at once and stores the results. It returns false if
// there was none.
func (s *Service) answerBatch(ctx context.Context, h *data.Handle, e Evaluation, at *progress) (more bool, err error) {
	questions, err := listQuestions(ctx, h, e.SetName, nil, at.LastID, answersAtOnce)
	if err != nil || len(questions) == 0 {
		return false, err
	}
	asker, err := s.asker(ctx, h.Tenant(), e)
	if err != nil {
		return false, err
	}
	results, err := s.answerAll(ctx, h, asker, questions, at.Done)
	if err != nil {
		return false, err
	}
	if err := outage(results, at.Done == 0); err != nil {
		return false, err
	}
	var used AnswerUsage
	for _, r := range results {
		used.add(*r.Answer)
	}
	at.Done, at.Batches, at.LastID = at.Done+len(results), at.Batches+1, questions[len(questions)-1].ID
	return true, h.Tx(ctx, func(tx *data.Tx) error {
		if err := insertResults(ctx, tx, e.ID, at.Batches, results); err != nil {
			return err
		}
		if err := addUsage(ctx, tx, e.ID, used); err != nil {
			return err
		}
		return job.Progress(ctx, tx, e.JobID, at.Done, max(e.Questions, at.Done))
	})
}

// outage returns the reason for which no question of a batch has a result, if it is one that lies in
// an endpoint and concerns all questions, else nil. The last batch of a set may be too small to tell.
func outage(results []Result, first bool) error {
	if len(results) < answersAtOnce && !first {
		return nil
	}
	for _, r := range results {
		if r.Answer.outage == nil {
			return nil
		}
	}
	return results[0].Answer.outage
}

// asker asks an agent the questions of an evaluation. Safe for concurrent use.
type asker struct {
	service    *Service
	evaluation Evaluation
	request    *access.Request // as which the agent is asked
	declines   *regexp.Regexp  // nil without a pattern
}

// asker returns an asker with the rights of the credential that started an evaluation. Errors:
// Unauthenticated when that is no longer valid; NotFound when the agent is gone.
func (s *Service) asker(ctx context.Context, id tenant.ID, e Evaluation) (*asker, error) {
	if e.delegation == nil || e.delegation.Tenant != id {
		return nil, fmt.Errorf("evaluation %s of tenant %s has no rights of the tenant", e.ID, id)
	}
	request, err := s.Auth.Act(ctx, *e.delegation)
	if fault.KindOf(err) == fault.Unauthenticated {
		return nil, fault.Wrap(fault.Denied, err, "%s; start another evaluation", fault.Public(err))
	}
	if err != nil {
		return nil, err
	}
	a := &asker{service: s, evaluation: e, request: request}
	if pattern := e.Settings.Agent.DeclinePattern; pattern != "" {
		if a.declines, err = schema.Pattern(pattern); err != nil {
			return nil, fmt.Errorf("read a stored pattern: %w", err)
		}
	}
	_, err = s.Agents.Get(access.NewContext(ctx, request), e.Settings.Agent.Name)
	return a, err
}

// answerAll asks all questions at once. Meanwhile it stores the progress, where done questions have
// results already. Errors: job.ErrEnded after a cancellation; that of ctx.
func (s *Service) answerAll(ctx context.Context, h *data.Handle, a *asker, questions []Question, done int) ([]Result, error) {
	var answered atomic.Int64
	ctx, stop := watch(access.NewContext(ctx, a.request), func(ctx context.Context) error {
		return s.report(ctx, h, a.evaluation, done+int(answered.Load()))
	})
	defer stop()
	results := make([]Result, len(questions))
	group, asking := errgroup.WithContext(ctx)
	for i, q := range questions {
		group.Go(func() error {
			answer, cited := a.answer(asking, q)
			if asking.Err() != nil {
				return context.Cause(asking)
			}
			results[i] = answeredResult(q, answer, cited)
			answered.Add(1)
			return nil
		})
	}
	return results, group.Wait()
}

// watch calls report each watchEvery, and returns a context that ends with job.ErrEnded once report
// returns that. The caller must call stop.
func watch(ctx context.Context, report func(context.Context) error) (_ context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	go func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-ticker.C:
			}
			if err := report(ctx); errors.Is(err, job.ErrEnded) {
				cancel(err)
			}
		}
	}()
	return watched, func() { cancel(nil) }
}

// answer asks a question, measures the answer, and has it judged. It returns the passages that the
// answer cites too. What goes wrong is in the answer.
func (a *asker) answer(ctx context.Context, q Question) (Answer, []agent.Citation) {
	said, took, err := a.ask(ctx, q)
	out := Answer{Usage: said.Usage, AnswerResult: measure.AnswerResult{
		Answerable: q.Judged(), Latency: took, Tokens: int64(said.Usage.InputTokens + said.Usage.OutputTokens), Cost: said.Usage.Cost,
	}}
	if err != nil {
		a.fail(ctx, &out, q, err)
		return out, nil
	}
	out.Text = kept(said.Text, maxAnswerKept)
	out.ExactMatch, out.F1 = compared(q, short(said))
	if said.Object == nil { // answers in JSON have no citations
		out.CitationPrecision, out.CitationRecall = cited(q, said.Citations)
	}
	if a.evaluation.Settings.Agent.Judge != "" && ctx.Err() == nil {
		a.judge(ctx, &out, q, said)
	} else {
		out.Declined = a.declined(said, nil)
	}
	return out, said.Citations
}

// ask asks a question, again while a model cannot be reached or limits its calls. The usage is that
// of all attempts, the time that of the last.
func (a *asker) ask(ctx context.Context, q Question) (said agent.Answer, took time.Duration, err error) {
	var before agent.Usage
	for n := 1; ; n++ {
		start := time.Now()
		said, err = a.service.Agents.Ask(notable.Without(ctx), agent.Question{Agent: a.evaluation.Settings.Agent.Name, Message: q.Text})
		took = time.Since(start)
		said.Usage.Add(before)
		if n >= answerAttempts || !passing(err) || !pause(ctx, err) {
			return said, took, err
		}
		before = said.Usage
	}
}

// passing reports whether an error says that an endpoint cannot be reached at present or limits its
// calls.
func passing(err error) bool {
	var bad *endpoint.BadAnswerError
	var status *endpoint.StatusError
	var public *fault.Error
	if err == nil || errors.As(err, &bad) {
		return false
	}
	switch fault.KindOf(err) {
	case fault.Unavailable:
		return true
	case fault.Exhausted: // not by a limit of the agent
		return errors.As(err, &status) || errors.As(err, &public) && public.RetryAfter > 0
	}
	return false
}

// refused reports whether an error says that an endpoint refuses all calls.
func refused(err error) bool {
	var status *endpoint.StatusError
	return fault.KindOf(err) == fault.Precondition && errors.As(err, &status)
}

// pause waits for as long as an error says. It returns false if ctx ends first.
func pause(ctx context.Context, err error) bool {
	wait := minAnswerWait
	var public *fault.Error
	if errors.As(err, &public) {
		wait = min(max(wait, public.RetryAfter), maxAnswerWait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fail records that a question has no answer, which counts like a wrong one.
func (a *asker) fail(ctx context.Context, out *Answer, q Question, err error) {
	if fault.KindOf(err) == fault.Internal && ctx.Err() == nil {
		a.service.Logger.ErrorContext(ctx, "an agent could not be asked a question of an evaluation", slog.String("evaluation", a.evaluation.ID), slog.Any("err", err))
	}
	if passing(err) || refused(err) {
		out.outage = naming(q, err)
	}
	out.Failed, out.Declined, out.Error = true, new(bool), kept(fault.Public(err), maxErrorKept)
	if len(q.References()) > 0 {
		out.ExactMatch, out.F1 = new(float64), new(float64)
		if a.evaluation.Settings.Agent.Judge != "" {
			out.Correctness = new(float64)
		}
	}
	if q.Judged() {
		out.CitationRecall = new(float64)
	}
}
