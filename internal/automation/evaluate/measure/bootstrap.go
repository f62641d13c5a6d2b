package measure

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/ragdhq/ragd/internal/operate/limit"
)

const (
	// Resamples is the number of resamples of a bootstrap.
	Resamples = 2000
	// Confidence is the probability of the intervals.
	Confidence = 0.95
	// seed makes intervals the same each time.
	seed = 1
)

// Estimate is a measure over a list of questions, with its confidence interval.
type Estimate struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Estimates returns the measures of results that have a Cut for each of ks. Measures that no
// question counts for are left out; Precision is too unless threshold is set.
//
// The intervals are percentile bootstraps over questions (Efron and Tibshirani 1993, chapter
// 13): Resamples times as many questions are drawn with replacement, from the answerable
// and the unanswerable ones apart, and the interval has the middle 95% of the values. The
// draws are the same each time. Errors: that of ctx, for which it uses limit.Yield.
func Estimates(ctx context.Context, results []Result, ks []int, threshold bool) ([]Estimate, error) {
	return estimate(ctx, answerable(results), statisticsOf(results, ks, threshold))
}

// AnswerEstimates returns the measures of answers, with intervals as Estimates has. Measures that
// no question counts for are left out.
func AnswerEstimates(ctx context.Context, results []AnswerResult) ([]Estimate, error) {
	return estimate(ctx, answerableAnswers(results), answerStatistics(results))
}

// answerable returns for each question whether it is answerable.
func answerable(results []Result) []bool {
	all := make([]bool, len(results))
	for i, r := range results {
		all[i] = r.Answerable
	}
	return all
}

func answerableAnswers(results []AnswerResult) []bool {
	all := make([]bool, len(results))
	for i, r := range results {
		all[i] = r.Answerable
	}
	return all
}

func estimate(ctx context.Context, answerable []bool, statistics []statistic) ([]Estimate, error) {
	drawn := make([][]float64, len(statistics))
	err := resample(ctx, answerable, func(weights []float64) {
		for i, s := range statistics {
			drawn[i] = append(drawn[i], s.of(weights))
		}
	})
	var all []Estimate
	every := once(len(answerable))
	for i, s := range statistics {
		if value := s.of(every); !math.IsNaN(value) {
			low, high := interval(drawn[i])
			all = append(all, Estimate{s.name, value, low, high})
		}
	}
	return all, err
}

// once returns weights that count each of n results once.
func once(n int) []float64 {
	return slices.Repeat([]float64{1}, n)
}

// resample calls do with the weights of each resample, which it changes afterwards.
func resample(ctx context.Context, answerable []bool, do func(weights []float64)) error {
	var groups [2][]int // unanswerable, answerable
	for i, yes := range answerable {
		g := 0
		if yes {
			g = 1
		}
		groups[g] = append(groups[g], i)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	weights := make([]float64, len(answerable))
	for range Resamples {
		if err := limit.Yield(ctx); err != nil {
			return err
		}
		clear(weights)
		for _, group := range groups {
			for range group {
				weights[group[random.IntN(len(group))]]++
			}
		}
		do(weights)
	}
	return nil
}

// interval returns the middle Confidence of values, without those that are NaN.
func interval(values []float64) (low, high float64) {
	values = slices.DeleteFunc(values, math.IsNaN)
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(values)
	outside := (1 - Confidence) / 2
	return stat.Quantile(outside, stat.Empirical, values, nil), stat.Quantile(1-outside, stat.Empirical, values, nil)
}
