package research

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/budget"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Limits and defaults of a research.
const (
	MaxQuestionBytes = 8 << 10
	MaxPassages      = 50
	DefaultPassages  = 8
	MaxSteps         = 64
	DefaultSteps     = 32
	MaxSeconds       = 60
	DefaultSeconds   = 20
	// MaxParts bounds the parts of a question.
	MaxParts = 8

	maxChain  = 6 // passages of a path
	partsTop  = 8 // sources of the search for a part
	atOnce    = 4 // parts
	sufficing = 0.5
	// confident is the calibrated score from which a passage that names nothing answers by itself.
	confident = 0.5
)

// Service answers questions that need several steps. Safe for concurrent use.
type Service struct {
	indexes *index.Service
	queries *query.Service
	graphs  *graph.Service
}

// New returns a Service.
func New(indexes *index.Service, queries *query.Service, graphs *graph.Service) *Service {
	return &Service{indexes, queries, graphs}
}

// Request is a question with what its research may take.
type Request struct {
	Question   string
	IndexNames []string // names or patterns; all that the caller may see if empty
	Namespace  string
	Filter     filter.Filter
	Budget     Budget
	// Admit asks whether a further step may run; its error ends the research with what was found. Nil: always.
	Admit func() error
	// OnEvent hears of the plan and of findings, in their order and one at a time. An error of it ends the research. Nil: nobody does.
	OnEvent func(Event) error
}

// Budget bounds a research. Nil values mean the defaults.
type Budget struct {
	Seconds      *float64
	Steps        *int // searches, and followings of names
	Passages     *int
	MaxTokens    *int // of all passages together; no limit
	EncodingName string
}

// Event is something that happened: one of its fields is set.
type Event struct {
	Plan    []Part
	Step    *Step
	Finding *Finding
}

// Step is a search, or the following of the names in passages.
type Step struct {
	Number int // from 1
	Part   int // index into the plan; -1 for the whole question
	Kind   StepKind
	Text   string // what was searched for, or the names that were followed
	Found  int    // passages
}

// StepKind says what a step did. The values are those of the API.
type StepKind string

// The kinds of steps.
const (
	Searched StepKind = "search"
	Walked   StepKind = "walk"
	Followed StepKind = "follow"
)

// Finding is the end of a part.
type Finding struct {
	Part  int
	Chain []string // titles of the passages of the best chain, in its order
	Found bool
}

// Part is a part of the question, which is answered by itself.
type Part struct {
	Text      string
	Names     []string // that it has, or refers to
	IndexName string
	// Dates is the filter by dates of the question that the first search of the part prefers; nil for none.
	Dates map[string]any
	// Coverage is the share of what the part asks, by weight, that its passages speak of, in [0,1].
	Coverage float64
	// Missing are words of the part that none of its passages speaks of.
	Missing []string
	// Relations are what a chain from the names on has to state, in its order.
	Relations []Relation
	Found     bool // whether the passages state all of them
	// Passages are numbers of Response.Passages, from 0: those of the best chain, in its order.
	Passages []int
}

// Relation is a piece of a part that leads from one thing to the next.
type Relation struct {
	Text   string // its words in the question
	Stated bool   // whether the chain states it of what the relation before leads to
	// Statements are where; none if the passage did not fit into the response.
	Statements []Statement
}

// Statement is a sentence that states a relation.
type Statement struct {
	Passage int // number in Response.Passages
	Quote   Quote
	Value   string // what it leads to or says, as far as a name or a number shows it
}

// Passage is a passage of the evidence.
type Passage struct {
	query.Source

	Parts  []int // whose chains have it, by number in Response.Parts; none for one that only the whole question found
	Quotes []Quote
	// Via is how the chain led to it, empty for the first of a chain.
	Via string
}

// Quote is a piece of a passage's text that matters.
type Quote struct {
	query.Span

	Text string
	// Names is the title of the passage that the quote leads to; empty if it answers.
	Names string
}

// Stop says why a research ended. The values are those of the API.
type Stop string

// The reasons.
const (
	Exhausted Stop = "exhausted" // nothing new came
	Steps     Stop = "steps"
	Seconds   Stop = "seconds"
	Quota     Stop = "quota"
)

// Response is the evidence: passages in the order in which to read them.
type Response struct {
	RelevantContext string
	Passages        []Passage
	Parts           []Part
	Warnings        []string
	StepCount       int
	Took            time.Duration
	Stopped         Stop
	Budget          *budget.Report // nil without MaxTokens
}

// checked is a valid request with its defaults.
type checked struct {
	Request
	seconds  float64
	steps    int
	passages int
	tokens   *budget.Budget
}

func (r Request) check() (c checked, err error) {
	c = checked{Request: r, seconds: *cmp.Or(r.Budget.Seconds, new(float64(DefaultSeconds))), steps: *cmp.Or(r.Budget.Steps, new(DefaultSteps)), passages: *cmp.Or(r.Budget.Passages, new(DefaultPassages))}
	switch {
	case strings.TrimSpace(r.Question) == "":
		return c, fault.Field("question", "must not be blank")
	case !(c.seconds > 0 && c.seconds <= MaxSeconds):
		return c, fault.Field("budget.seconds", "must be above 0 and at most %d, got %g", MaxSeconds, c.seconds)
	case c.steps < 1 || c.steps > MaxSteps:
		return c, fault.Field("budget.steps", "must be between 1 and %d, got %d", MaxSteps, c.steps)
	case c.passages < 1 || c.passages > MaxPassages:
		return c, fault.Field("budget.passages", "must be between 1 and %d, got %d", MaxPassages, c.passages)
	}
	if err := textlimit.Check("question", r.Question, MaxQuestionBytes); err != nil {
		return c, err
	}
	if c.tokens, err = budget.New(r.Budget.MaxTokens, r.Budget.EncodingName); err != nil {
		return c, fault.Under("budget", err)
	}
	return c, nil
}

// Research finds the passages that answer a question together. Errors: Invalid naming the field; NotFound for an index; those of
// query.Service.Query. When a limit of its budget is met it returns what it has until then.
func (s *Service) Research(ctx context.Context, req Request) (Response, error) {
	if _, err := access.Require(ctx, access.Read); err != nil {
		return Response{}, err
	}
	c, err := req.check()
	if err != nil {
		return Response{}, err
	}
	began := time.Now()
	within, cancel := context.WithTimeoutCause(ctx, time.Duration(c.seconds*float64(time.Second)), errSeconds)
	defer cancel()
	r := &run{service: s, request: c, counter: counter{most: c.steps, admit: req.Admit, report: req.OnEvent}}
	if err := r.do(within); err != nil && !r.counter.usedUp(err) && (!errors.Is(context.Cause(within), errSeconds) || ctx.Err() != nil) {
		return Response{}, err
	}
	r.stop(within)
	response, err := r.response(ctx)
	response.StepCount, response.Took = r.counter.done(), time.Since(began)
	return response, err
}

// run is the state of one research.
type run struct {
	service *Service
	request checked
	counter counter

	index   string // of the whole question
	whole   []query.Source
	parts   []*partRun
	stopped Stop
	warned  []string
}

// partRun is the state of one part.
type partRun struct {
	part
	number int
	result Part
	paths  []path // best first
	terms  []term
	proof  proof                       // of the best path
	known  map[graph.ChunkRef]*passage // all that it read
	found  []query.Source              // by the search
}

// stop notes why the research ended.
func (r *run) stop(ctx context.Context) {
	r.stopped = Exhausted
	switch {
	case r.counter.refused != nil:
		r.stopped = Quota
		r.warned = append(r.warned, "the quota of the tenant ended the research: "+fault.Public(r.counter.refused))
	case errors.Is(context.Cause(ctx), errSeconds):
		r.stopped = Seconds
	case r.counter.ended:
		r.stopped = Steps
	}
}

// do plans and runs the parts.
func (r *run) do(ctx context.Context) error {
	names, err := r.service.queries.IndexNames(ctx, r.request.IndexNames)
	if err != nil {
		return err
	}
	if err := r.walk(ctx, names); err != nil {
		return err
	}
	if err := r.plan(ctx); err != nil {
		return err
	}
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, p := range r.parts {
		group.Go(func() error {
			if err := r.pursue(running, p, names); err != nil && !r.counter.usedUp(err) { // others end by themselves
				return err
			}
			p.judge()
			return r.counter.tell(Event{Finding: &Finding{Part: p.number, Chain: p.chain(), Found: p.result.Found}})
		})
	}
	return group.Wait()
}
