package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// statistic is a number about a list of results, such as a mean. of computes it where
// result i counts weights[i] times, and returns NaN if no result counts.
type statistic struct {
	name string
	// each holds the value of each question, whose mean the statistic is, and NaN for those that
	// do not count; nil for other statistics.
	each []float64
	of   func(weights []float64) float64
}

// Names of measures. Those of a cut are followed by @k.
const (
	RecallAt  = "recall"
	NDCGAt    = "ndcg"
	AllAt     = "all"
	MRR       = "mrr"
	Precision = "precision"       // fraction of the sources above the threshold that are relevant
	AUC       = "unanswerableAuc" // see aucOf
	P50       = "p50Ms"
	P99       = "p99Ms"
)

// At returns the name of a measure of the first k positions.
func At(name string, k int) string { return fmt.Sprintf("%s@%d", name, k) }

// statisticsOf returns the statistics of results that have a Cut for each of ks. Precision
// is left out unless a threshold was given.
func statisticsOf(results []Result, ks []int, threshold bool) []statistic {
	var all []statistic
	for _, m := range []struct {
		name string
		of   func(Cut) float64
	}{
		{RecallAt, func(c Cut) float64 { return c.Recall }},
		{NDCGAt, func(c Cut) float64 { return c.NDCG }},
		{AllAt, func(c Cut) float64 { return c.AllIn }},
	} {
		for i, k := range ks {
			all = append(all, meanOf(At(m.name, k), answerableOnly(results, func(r Result) float64 { return m.of(r.Cuts[i]) })))
		}
	}
	all = append(all, meanOf(MRR, answerableOnly(results, func(r Result) float64 { return r.Reciprocal })))
	if threshold {
		all = append(all, precisionOf(results))
	}
	latencies := make([]time.Duration, len(results))
	for i, r := range results {
		latencies[i] = r.Latency
	}
	return append(all, aucOf(results), latencyOf(P50, latencies, 0.5), latencyOf(P99, latencies, 0.99))
}

// answerableOnly returns a value of each result, NaN for unanswerable questions.
func answerableOnly(results []Result, of func(Result) float64) []float64 {
	return column(results, func(r Result) float64 {
		if !r.Answerable {
			return math.NaN()
		}
		return of(r)
	})
}

// meanOf is the mean of the values that are not NaN.
func meanOf(name string, each []float64) statistic {
	return statistic{name: name, each: each, of: func(weights []float64) float64 {
		sum, n := 0.0, 0.0
		for i, w := range weights {
			if !math.IsNaN(each[i]) {
				sum += w * each[i]
				n += w
			}
		}
		return sum / n
	}}
}

// precisionOf is the fraction of all sources above the threshold that are relevant.
func precisionOf(results []Result) statistic {
	return statistic{name: Precision, of: func(weights []float64) float64 {
		right, above := 0.0, 0.0
		for i, w := range weights {
			right += w * float64(results[i].Right)
			above += w * float64(results[i].Above)
		}
		return right / above
	}}
}

// aucOf is the area under the ROC curve of the top score as a test of whether a question is
// answerable: the probability that an answerable question has a higher top score than an
// unanswerable one, where equal scores count half. A question without sources has the
// lowest score of all.
func aucOf(results []Result) statistic {
	score := func(i int) float64 {
		if s := results[i].TopScore; s != nil {
			return *s
		}
		return math.Inf(-1)
	}
	order := make([]int, len(results))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(score(a), score(b)) })
	return statistic{name: AUC, of: func(weights []float64) float64 {
		below, pairs, positive := 0.0, 0.0, 0.0 // below: unanswerable questions with a lower score
		for start := 0; start < len(order); {
			yes, no, end := 0.0, 0.0, start
			for ; end < len(order) && score(order[end]) == score(order[start]); end++ {
				if results[order[end]].Answerable {
					yes += weights[order[end]]
				} else {
					no += weights[order[end]]
				}
			}
			pairs += yes * (below + no/2)
			below += no
			positive += yes
			start = end
		}
		return pairs / (positive * below)
	}}
}

// notMeasured is the latency of a question that does not count.
const notMeasured time.Duration = -1

// latencyOf is a quantile of the latencies by the nearest rank, in milliseconds.
func latencyOf(name string, latencies []time.Duration, p float64) statistic {
	order := make([]int, 0, len(latencies))
	for i, l := range latencies {
		if l != notMeasured {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(latencies[a], latencies[b]) })
	return statistic{name: name, of: func(weights []float64) float64 {
		total := 0.0
		for _, i := range order {
			total += weights[i]
		}
		sum := 0.0
		for _, i := range order {
			if sum += weights[i]; weights[i] > 0 && sum >= p*total {
				return float64(latencies[i]) / float64(time.Millisecond)
			}
		}
		return math.NaN()
	}}
}
