package measure

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Difference compares a measure between two runs of the same questions.
type Difference struct {
	Name       string
	Baseline   float64
	Candidate  float64
	Difference float64 // Candidate - Baseline
	Low, High  float64 // confidence interval of Difference
	// P is the probability of a difference at least as far from 0 if the runs were equally
	// good: twice the smaller fraction of resamples whose difference is on one side of 0.
	P float64
	// Wins, Losses and Ties count the questions for which the candidate is better, worse
	// and the same, and SignP is the two-sided p-value of the sign test on them. All are 0
	// for measures that a single question does not have.
	Wins, Losses, Ties int
	SignP              float64
}

// Compare returns the differences between two lists of results of the same questions in the
// same order. Both have a Cut for each of ks. The intervals are paired bootstraps: each
// resample draws questions as Estimates does and takes both results of each.
func Compare(ctx context.Context, baseline, candidate []Result, ks []int, threshold bool) ([]Difference, error) {
	return compare(ctx, answerable(baseline), statisticsOf(baseline, ks, threshold), statisticsOf(candidate, ks, threshold))
}

// CompareAnswers returns the differences between the answers to the same questions in the same
// order, as Compare does. Means are taken over the questions that count in both runs.
func CompareAnswers(ctx context.Context, baseline, candidate []AnswerResult) ([]Difference, error) {
	return compare(ctx, answerableAnswers(baseline), answerStatistics(baseline), answerStatistics(candidate))
}

func compare(ctx context.Context, answerable []bool, before, after []statistic) ([]Difference, error) {
	for i := range before {
		before[i], after[i] = paired(before[i], after[i])
	}
	drawn := make([][]float64, len(before))
	err := resample(ctx, answerable, func(weights []float64) {
		for i := range before {
			drawn[i] = append(drawn[i], after[i].of(weights)-before[i].of(weights))
		}
	})
	var all []Difference
	every := once(len(answerable))
	for i := range before {
		d := Difference{Name: before[i].name, Baseline: before[i].of(every), Candidate: after[i].of(every)}
		if d.Difference = d.Candidate - d.Baseline; math.IsNaN(d.Difference) {
			continue
		}
		d.P = twoSided(drawn[i])
		d.Low, d.High = interval(drawn[i])
		if before[i].each != nil {
			d.count(before[i].each, after[i].each)
		}
		all = append(all, d)
	}
	return all, err
}

// paired returns two means over the questions that count for both, and other statistics as they are.
func paired(x, y statistic) (statistic, statistic) {
	if x.each == nil {
		return x, y
	}
	before, after := slices.Clone(x.each), slices.Clone(y.each)
	for i := range before {
		if math.IsNaN(before[i]) || math.IsNaN(after[i]) {
			before[i], after[i] = math.NaN(), math.NaN()
		}
	}
	return meanOf(x.name, before), meanOf(y.name, after)
}

// tie is the largest difference of two values that count as the same.
const tie = 1e-9

// count fills in the counts of the questions for which both values count, and their test.
func (d *Difference) count(before, after []float64) {
	for i := range before {
		switch change := after[i] - before[i]; {
		case math.IsNaN(change):
		case change > tie:
			d.Wins++
		case change < -tie:
			d.Losses++
		default:
			d.Ties++
		}
	}
	d.SignP = signTest(d.Wins, d.Losses)
}

// twoSided returns the p-value of differences that were resampled.
func twoSided(differences []float64) float64 {
	below, above, n := 0.0, 0.0, 0.0
	for _, d := range differences {
		if math.IsNaN(d) {
			continue
		}
		n++
		if d <= tie {
			below++
		}
		if d >= -tie {
			above++
		}
	}
	// The observed value counts as one more resample, so that no p-value is 0
	// (Davison and Hinkley 1997, section 4.2).
	return min(1, 2*(min(below, above)+1)/(n+1))
}

// signTest returns the two-sided p-value of the exact sign test: of so uneven a split if
// wins and losses were equally likely.
func signTest(wins, losses int) float64 {
	n := wins + losses
	if n == 0 {
		return 1
	}
	coin := distuv.Binomial{N: float64(n), P: 0.5}
	return min(1, 2*coin.CDF(float64(min(wins, losses))))
}

// Values returns the measures of one question, without intervals: none for an unanswerable one.
func Values(r Result) []Estimate {
	ks := make([]int, len(r.Cuts))
	for i, c := range r.Cuts {
		ks[i] = c.K
	}
	return values(statisticsOf([]Result{r}, ks, false))
}

// AnswerValues returns the measures of one answer that count for its question, without intervals.
func AnswerValues(r AnswerResult) []Estimate { return values(answerStatistics([]AnswerResult{r})) }

func values(statistics []statistic) []Estimate {
	var all []Estimate
	for _, s := range statistics {
		if s.each != nil && !math.IsNaN(s.each[0]) {
			all = append(all, Estimate{s.name, s.each[0], s.each[0], s.each[0]})
		}
	}
	return all
}

// Find returns the value of a measure by its name, or false if it is not there.
func Find(measures []Estimate, name string) (float64, bool) {
	for _, e := range measures {
		if e.Name == name {
			return e.Value, true
		}
	}
	return 0, false
}

// Names returns the names of the measures that questions have, with those of each of ks.
func Names(ks []int) []string { return names(statisticsOf(nil, ks, false)) }

// AnswerNames returns the names of the measures that answers have.
func AnswerNames() []string { return names(answerStatistics(nil)) }

func names(statistics []statistic) []string {
	var all []string
	for _, s := range statistics {
		if s.each != nil {
			all = append(all, s.name)
		}
	}
	return all
}
