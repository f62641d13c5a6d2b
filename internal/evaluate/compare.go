package evaluate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/ragdhq/ragd/internal/evaluate/measure"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
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
// have, and limit 0 means 20 changes. Errors: NotFound; Invalid; Precondition for an evaluation
// that has not succeeded or whose results are no longer kept, and for two that have nothing in
// common.
func (s *Service) Compare(ctx context.Context, baselineID, candidateID, by string, limit int) (Comparison, error) {
	c, err := s.caller(ctx, tenant.Read)
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
	ks := slices.DeleteFunc(slices.Clone(baseline.Settings.Ks), func(k int) bool { return !slices.Contains(candidate.Settings.Ks, k) })
	pairs := pair(before, after)
	switch {
	case len(ks) == 0:
		return Comparison{}, fault.New(fault.Precondition, "the evaluations have no k in common: one has %v, the other %v", baseline.Settings.Ks, candidate.Settings.Ks)
	case len(pairs.before) == 0:
		return Comparison{}, fault.New(fault.Precondition, "the evaluations have no question in common that was not changed between them")
	}
	pairs.keep(ks)
	result := Comparison{Questions: len(pairs.before), LeftOut: pairs.leftOut, Measure: cmp.Or(by, measure.At(measure.NDCGAt, slices.Max(ks)))}
	if result.Changes, err = pairs.changes(result.Measure, cmp.Or(limit, defaultChanges)); err != nil {
		return Comparison{}, err
	}
	x, y := baseline.Settings.MinScore, candidate.Settings.MinScore
	threshold := x != nil && y != nil
	err = s.Processor.Run(ctx, string(c.request.Tenant), func(ctx context.Context) (err error) {
		result.Differences, err = measure.Compare(ctx, plain(pairs.before), plain(pairs.after), ks, threshold)
		return err
	})
	return result, err
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

// changes returns the questions whose measure changed most, at most limit. Errors: Invalid
// for a measure that questions do not have.
func (p pairs) changes(by string, limit int) ([]Change, error) {
	var all []Change
	for i, before := range p.before {
		x, ok := measure.Value(before.Result, by)
		if !ok {
			return nil, fault.Field("measure", "must be recall, ndcg or all of a k that both have, such as recall@%d, or mrr, got %q", before.Cuts[0].K, by)
		}
		after := p.after[i]
		y, _ := measure.Value(after.Result, by)
		if x != y && before.Answerable {
			all = append(all, Change{before.ID, before.Text, x, y, before.FirstRank, after.FirstRank})
		}
	}
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Candidate-b.Baseline), math.Abs(a.Candidate-a.Baseline)), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(limit, len(all))], nil
}
