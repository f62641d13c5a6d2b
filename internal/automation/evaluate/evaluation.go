package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Settings say how the questions of an evaluation are asked and measured.
type Settings struct {
	// Agent says that an agent is asked, and how. Of the other fields only Label applies then.
	Agent *AgentSettings `json:"agent,omitempty"`
	// Tuning says that an index is tuned, and how. Request is then the query with the present value.
	Tuning *TuningSettings `json:"tuning,omitempty"`
	// Request is the message of the query in JSON, without the question and the index.
	Request json.RawMessage `json:"request,omitempty"`
	Graph   bool            `json:"graph,omitempty"` // whether it is a graph query
	Ks      []int           `json:"k,omitempty"`
	// MinScore is the threshold of the measure precision; nil: it is not measured.
	MinScore *float64 `json:"minScore,omitempty"`
	Label    string   `json:"label,omitempty"`
	// ContextFilter is the filter of the request context.
	ContextFilter json.RawMessage `json:"contextFilter,omitempty"`
}

// Evaluation is a run of a question set.
type Evaluation struct {
	ID           string
	SetName      string
	IndexName    string
	Settings     Settings
	Questions    int                // of the set at the start
	Unanswerable int                // of them; 0 until it has succeeded
	Estimates    []measure.Estimate // nil until it has succeeded
	Outcome      *TuningOutcome     // of a tuning; nil until it has succeeded
	Usage        AnswerUsage        // of an agent and its judge, for the questions asked so far
	JobID        string
	Job          *job.Job // nil if its row is gone
	CreatedAt    time.Time

	access     string
	delegation *access.Delegation // nil for queries
	ended      bool               // has Estimates, even if there are none
}

// SearchFunc asks one question with the settings of an evaluation of the index. It returns
// the hits best first. The context carries the request as which it is asked.
type SearchFunc func(ctx context.Context, indexName string, s Settings, question string) ([]Hit, error)

// Limits of evaluations.
const (
	maxKs         = 10
	maxK          = 1000
	maxLabelBytes = 200
	// maxEvaluations is how many a tenant keeps: the oldest that have ended are deleted.
	maxEvaluations = 1000
	// maxResults is for how many questions a tenant's results are kept: those of the oldest
	// evaluations are deleted, whose measures stay.
	maxResults = 200_000
	// searchTimeout bounds the time of one question.
	searchTimeout = time.Minute
)

// Complete fills in defaults and checks the settings. Errors: Invalid.
func (s *Settings) Complete() error {
	if err := textlimit.Check("label", s.Label, maxLabelBytes); err != nil {
		return err
	}
	if s.Agent != nil {
		return s.checkAgent()
	}
	if len(s.Ks) == 0 {
		s.Ks = []int{5, 10}
	}
	slices.Sort(s.Ks)
	s.Ks = slices.Compact(s.Ks)
	if len(s.Ks) > maxKs {
		return fault.Field("k", "must be at most %d numbers, got %d", maxKs, len(s.Ks))
	}
	if s.Ks[0] < 1 || slices.Max(s.Ks) > maxK {
		return fault.Field("k", "must be between 1 and %d", maxK)
	}
	if m := s.MinScore; m != nil && (*m != *m || *m-*m != 0) {
		return fault.Field("minScore", "must be a finite number")
	}
	return nil
}

// Start starts a job that evaluates a set and returns the evaluation. An empty index name
// means that of the set. With the settings of a query it asks the first question at once. Errors:
// those of that query; Invalid; NotFound, also for an agent that the caller may not ask; Precondition
// for a set without questions.
func (s *Service) Start(ctx context.Context, setName, indexName string, settings Settings) (Evaluation, error) {
	c, err := s.caller(ctx, access.Write)
	if err != nil {
		return Evaluation{}, err
	}
	if err := settings.Complete(); err != nil {
		return Evaluation{}, err
	}
	set, err := getSet(ctx, c.handle, c.access, setName)
	if err != nil {
		return Evaluation{}, err
	}
	if set.Questions == 0 {
		return Evaluation{}, fault.New(fault.Precondition, "question set %q has no questions: put some first", set.Name)
	}
	if indexName == "" {
		indexName = set.IndexName
	}
	i, err := s.Indexes.Resolve(ctx, c.request.Tenant, indexName)
	if err != nil {
		return Evaluation{}, err
	}
	return s.start(ctx, c, set, i, settings)
}

// start starts a job that evaluates a set, unless its settings cannot be used. Errors: as of Start.
func (s *Service) start(ctx context.Context, c caller, set Set, i index.Index, settings Settings) (Evaluation, error) {
	if err := c.handle.Admit(ctx, 0); err != nil {
		return Evaluation{}, err
	}
	e := Evaluation{
		ID: uuid.Must(uuid.NewV7()).String(), JobID: uuid.Must(uuid.NewV7()).String(), SetName: set.Name, IndexName: i.Name,
		Settings: settings, Questions: set.Questions, access: c.access.Filter,
	}
	if err := s.try(ctx, c, &e); err != nil {
		return Evaluation{}, err
	}
	err := c.handle.Tx(ctx, func(tx *data.Tx) error {
		if err := insertEvaluation(ctx, tx, e); err != nil {
			return err
		}
		return s.enqueue(ctx, tx, e.task(), i.ID, job.Start{Kind: job.Evaluate, JobID: e.JobID, IndexName: i.Name, Unit: "questions", Access: c.request.Principal.MandatoryFilter})
	})
	if err != nil {
		return Evaluation{}, err
	}
	return getEvaluation(ctx, c.handle, c.access, e.ID)
}

// enqueue stores a queued job and its task.
func (s *Service) enqueue(ctx context.Context, tx *data.Tx, task job.Kind, indexID int64, start job.Start) error {
	if err := job.Insert(ctx, tx, start); err != nil {
		return err
	}
	return s.Queue.Enqueue(ctx, tx, task, indexID, start.JobID)
}

// task returns the kind of the task that runs the evaluation.
func (e Evaluation) task() job.Kind {
	if e.Settings.Agent != nil {
		return job.Answers
	}
	return job.Evaluate
}

// try checks that an evaluation can be run, and adds to it what the run needs of the request: it
// asks the first question with the settings of a query, and looks up an agent and a judge.
func (s *Service) try(ctx context.Context, c caller, e *Evaluation) error {
	if e.Settings.Agent != nil {
		return s.delegate(ctx, c, e)
	}
	f, err := c.request.Resolve(c.request.Overrides.Filter)
	if err != nil {
		return err
	}
	if !f.IsZero() {
		e.Settings.ContextFilter = f.JSON()
	}
	first, err := listQuestions(ctx, c.handle, e.SetName, nil, "", 1)
	if err != nil || len(first) == 0 { // they were deleted meanwhile
		return err
	}
	_, err = s.ask(ctx, c.request.Tenant, *e, first[0].Text)
	return err
}

// ask asks a question as the credential that started the evaluation.
func (s *Service) ask(ctx context.Context, id tenant.ID, e Evaluation, text string) ([]Hit, error) {
	ctx, err := actAs(ctx, id, e.access, e.Settings.ContextFilter)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	return s.Search(ctx, e.IndexName, e.Settings, text)
}

// actAs returns a context with a request of the tenant that may read what a credential with
// the mandatory filter may, and of that what the filter of a request context selects.
func actAs(ctx context.Context, id tenant.ID, mandatoryFilter string, contextFilter json.RawMessage) (context.Context, error) {
	mandatory, err := filter.Parse([]byte(mandatoryFilter))
	if err != nil {
		return nil, fmt.Errorf("read a stored filter: %w", err)
	}
	r := &access.Request{Tenant: id, Principal: access.Principal{
		Subject: "evaluation", Tenant: id, Scopes: []access.Scope{access.Read}, MandatoryFilter: mandatory.Trusted(),
	}}
	if contextFilter != nil {
		if r.Overrides.Filter, err = filter.Parse([]byte(contextFilter)); err != nil {
			return nil, fmt.Errorf("read a stored filter: %w", err)
		}
	}
	return access.NewContext(ctx, r), nil
}

// Get returns an evaluation. Errors: NotFound.
func (s *Service) Get(ctx context.Context, id string) (Evaluation, error) {
	c, err := s.caller(ctx, access.Read)
	if err != nil {
		return Evaluation{}, err
	}
	return getEvaluation(ctx, c.handle, c.access, id)
}

// position is the sort key of a list of evaluations: newest first.
type position struct {
	CreatedAt time.Time `json:"t"`
	ID        string    `json:"id"`
}

// List returns a page of evaluations, newest first; those of one set if it is named.
func (s *Service) List(ctx context.Context, setName string, pageSize int32, pageToken string) ([]Evaluation, string, error) {
	c, err := s.caller(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	if setName != "" {
		if _, err := getSet(ctx, c.handle, c.access, setName); err != nil {
			return nil, "", err
		}
	}
	key := func(e Evaluation) *position { return &position{e.CreatedAt, e.ID} }
	return pagination.List(access.Pages(ctx, "evaluations", setName), pageSize, pageToken, nil, key, func(after *position, most int) ([]Evaluation, error) {
		return listEvaluations(ctx, c.handle, c.access, setName, after, most)
	})
}

// Delete deletes an evaluation and cancels its job. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, id string) error {
	c, err := s.caller(ctx, access.Write)
	if err != nil {
		return err
	}
	return c.handle.Tx(ctx, func(tx *data.Tx) error {
		e, err := getEvaluation(ctx, tx, c.access, id)
		if err != nil {
			return err
		}
		if err := job.Cancel(ctx, tx, e.JobID, "its evaluation was deleted"); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM ragd_shared.evaluations WHERE evaluation_id = $1`, e.ID)
		return err
	})
}
