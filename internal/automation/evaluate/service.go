package evaluate

import (
	"context"
	"log/slog"
	"time"

	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Service stores question sets of the calling tenant, drafts questions, and runs and compares
// evaluations. A credential with a mandatory filter sees only what was made with the same
// filter. Safe for concurrent use.
type Service struct {
	Config

	slots *limit.Limiter[tenant.ID] // evaluations of agents on this instance
}

// Config are the parts that a Service uses. All but Busy are required.
type Config struct {
	DB *data.DB
	// Work is the database for background work.
	Work    *data.DB
	Indexes *index.Service
	Queue   *job.Queue
	Models  *llm.Client
	Search  SearchFunc
	Agents  *agent.Service
	Auth    *credential.Authenticator
	// Processor is used to compute measures.
	Processor *limit.Processor
	// Busy reports whether requests are running, for which evaluations wait a little before
	// each question. Default: never.
	Busy   func() bool
	Logger *slog.Logger
}

// New returns a Service.
func New(config Config) *Service {
	if config.Busy == nil {
		config.Busy = func() bool { return false }
	}
	return &Service{Config: config, slots: limit.New[tenant.ID](0, maxAgentRuns)}
}

const (
	// turn is the time after which a job lets others go first.
	turn = 5 * time.Second
	// politeWait is the longest time for which a question waits for requests that are running.
	politeWait = 200 * time.Millisecond
)

// Runners returns what runs, cancels and retries evaluations and drafts.
func (s *Service) Runners() job.Registry {
	cancel := func(ctx context.Context, id tenant.ID, j job.Job) error {
		return job.Cancel(ctx, s.DB.Handle(id), j.JobID, job.CancelledOnRequest)
	}
	return job.Registry{
		job.Evaluate: {Run: s.runEvaluation, Lane: job.LaneEvaluate, Cancel: cancel, Retry: s.retryEvaluation},
		job.Answers:  {Run: s.runAnswers, Lane: job.LaneWorkflow, Timeout: answersTimeout},
		job.Draft:    {Run: s.runDraft, Lane: job.LaneEvaluate, Cancel: cancel, Retry: s.retryDraft},
	}
}

// wait waits while requests are running, for politeWait at most.
func (s *Service) wait(ctx context.Context) error {
	const step = 2 * time.Millisecond
	for range politeWait / step {
		if !s.Busy() {
			break
		}
		select {
		case <-time.After(step):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}
