package evaluate

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Comparison compares two evaluations over the questions that both have.
type Comparison struct {
	Questions   int
	LeftOut     int // questions that only one has, or that were changed between them
	Differences []measure.Difference
	Measure     string   // by which Changes are sorted
	Changes     []Change // the questions that changed most, those first; ties by id
}

// Change is a question whose measure changed.
type Change struct {
	ID, Text            string
	Baseline, Candidate float64
	// BaselineRank and CandidateRank are those of the first relevant item, 0 if none was found.
	BaselineRank, CandidateRank int
}

const (
	defaultChanges = 20
	maxChanges     = 1000
)

// Compare compares two evaluations. An empty measure means nDCG at the largest k that both
// have, or of agents the first of answerOrder, and limit 0 means 20 changes. Errors: NotFound;
// Invalid; Precondition for an evaluation that has not succeeded or whose results are no longer
// kept, and for two that have nothing in common.
func (s *Service) Compare(ctx context.Context, baselineID, candidateID, by string, limit int) (Comparison, error) {
	c, err := s.caller(ctx, access.Read)
	if err != nil {
		return Comparison{}, err
	}
	if limit < 0 || limit > maxChanges {
		return Comparison{}, fault.Field("limit", "must be between 1 and %d, got %d", maxChanges, limit)
	}
	baseline, before, err := finished(ctx, c, baselineID)
	if err != nil {
		return Comparison{}, err
	}
	candidate, after, err := finished(ctx, c, candidateID)
	if err != nil {
		return Comparison{}, err
	}
	pairs := pair(before, after)
	result := Comparison{Questions: len(pairs.before), LeftOut: pairs.leftOut, Measure: by}
	x, y := baseline.Settings, candidate.Settings
	switch {
	case (x.Agent == nil) != (y.Agent == nil):
		return Comparison{}, fault.New(fault.Precondition, "one of the evaluations asked an agent and the other an index: they have no measure in common")
	case len(pairs.before) == 0:
		return Comparison{}, fault.New(fault.Precondition, "the evaluations have no question in common that was not changed between them")
	}
	err = s.Processor.Run(ctx, string(c.request.Tenant), func(ctx context.Context) error {
		if x.Agent != nil {
			return result.compareAnswers(ctx, pairs, *x.Agent, *y.Agent, limit)
		}
		return result.compareHits(ctx, pairs, x, y, limit)
	})
	return result, err
}

// compareHits fills in the differences of what queries found.
func (c *Comparison) compareHits(ctx context.Context, p pairs, baseline, candidate Settings, limit int) error {
	ks := slices.DeleteFunc(slices.Clone(baseline.Ks), func(k int) bool { return !slices.Contains(candidate.Ks, k) })
	if len(ks) == 0 {
		return fault.New(fault.Precondition, "the evaluations have no k in common: one has %v, the other %v", baseline.Ks, candidate.Ks)
	}
	p.keep(ks)
	c.Measure = cmp.Or(c.Measure, measure.At(measure.NDCGAt, slices.Max(ks)))
	if !slices.Contains(measure.Names(ks), c.Measure) {
		return fault.Field("measure", "must be recall, ndcg or all of a k that both have, such as recall@%d, or mrr, got %q", ks[0], textlimit.Shorten(c.Measure, 100))
	}
	c.Changes = p.changes(c.Measure, limit, func(r Result) []measure.Estimate { return measure.Values(r.Result) })
	var err error
	c.Differences, err = measure.Compare(ctx, plain(p.before), plain(p.after), ks, baseline.MinScore != nil && candidate.MinScore != nil)
	return err
}

// answerOrder are the measures by which changes of answers are sorted unless one is named: the first
// that both evaluations have.
var answerOrder = []string{measure.Correctness, measure.F1, measure.CitationRecall, measure.Failed}

// compareAnswers fills in the differences of answers, without those that were measured in two ways.
func (c *Comparison) compareAnswers(ctx context.Context, p pairs, baseline, candidate AgentSettings, limit int) (err error) {
	if c.Measure != "" && !slices.Contains(measure.AnswerNames(), c.Measure) {
		return fault.Field("measure", "must be one of %s, got %q", strings.Join(measure.AnswerNames(), ", "), textlimit.Shorten(c.Measure, 100))
	}
	if c.Differences, err = measure.CompareAnswers(ctx, answersOf(p.before), answersOf(p.after)); err != nil {
		return err
	}
	var other []string
	if baseline.Judge != candidate.Judge {
		other = append(other, measure.Correctness, measure.Faithfulness, measure.JudgeFailed)
	}
	if baseline.DeclinePattern != candidate.DeclinePattern || baseline.DeclinePattern == "" && baseline.Judge != candidate.Judge {
		other = append(other, measure.DeclinedAnswerable, measure.DeclinedUnanswerable)
	}
	c.Differences = slices.DeleteFunc(c.Differences, func(d measure.Difference) bool { return slices.Contains(other, d.Name) })
	if c.Measure == "" {
		at := slices.IndexFunc(answerOrder, func(name string) bool {
			return slices.ContainsFunc(c.Differences, func(d measure.Difference) bool { return d.Name == name })
		})
		c.Measure = answerOrder[max(0, at)]
	}
	c.Changes = p.changes(c.Measure, limit, func(r Result) []measure.Estimate { return measure.AnswerValues(r.Answer.AnswerResult) })
	return nil
}

// finished returns an evaluation that has succeeded, with its results.
func finished(ctx context.Context, c caller, id string) (Evaluation, []Result, error) {
	e, err := getEvaluation(ctx, c.handle, c.access, id)
	if err != nil {
		return e, nil, err
	}
	if !e.ended {
		return e, nil, fault.New(fault.Precondition, "evaluation %s has not succeeded: wait for its job, or retry it", e.ID)
	}
	results, err := allResults(ctx, c.handle, e.ID)
	if err == nil && len(results) == 0 && e.Questions > 0 {
		err = fault.New(fault.Precondition, "the results of evaluation %s are no longer kept: start it again", e.ID)
	}
	return e, results, err
}

// pairs holds the results of the questions that two evaluations have in common, in the same
// order.
type pairs struct {
	before, after []Result
	leftOut       int
}

func pair(before, after []Result) pairs {
	others := make(map[string]Result, len(after))
	for _, r := range after {
		others[r.ID] = r
	}
	var p pairs
	for _, r := range before {
		other, ok := others[r.ID]
		delete(others, r.ID)
		if !ok || other.Version != r.Version {
			p.leftOut++
			continue
		}
		p.before, p.after = append(p.before, r), append(p.after, other)
	}
	p.leftOut += len(others)
	return p
}

// keep removes all cuts but those of ks.
func (p pairs) keep(ks []int) {
	for _, results := range [][]Result{p.before, p.after} {
		for i := range results {
			results[i].Cuts = slices.DeleteFunc(results[i].Cuts, func(c measure.Cut) bool { return !slices.Contains(ks, c.K) })
		}
	}
}

// changes returns the questions whose measure changed most, at most limit, 0 for defaultChanges.
func (p pairs) changes(by string, limit int, of func(Result) []measure.Estimate) []Change {
	var all []Change
	for i, before := range p.before {
		after := p.after[i]
		x, had := measure.Find(of(before), by)
		y, has := measure.Find(of(after), by)
		if had && has && x != y {
			all = append(all, Change{before.ID, before.Text, x, y, before.FirstRank, after.FirstRank})
		}
	}
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Candidate-b.Baseline), math.Abs(a.Candidate-a.Baseline)), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(cmp.Or(limit, defaultChanges), len(all))]
}
