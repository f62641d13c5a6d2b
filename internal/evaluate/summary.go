package evaluate

import (
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
)

// Answer is the ranking that one question got.
type Answer struct {
	Judged  Judgements
	Ranking []string // ids of documents, best first
	Latency time.Duration
}

// Cut holds the means over all questions of the measures of the first K
// documents.
type Cut struct {
	K      int     `json:"k"`
	Recall float64 `json:"recall"`
	NDCG   float64 `json:"ndcg"`
	AllIn  float64 `json:"allIn"`
}

// Summary holds the means over all questions.
type Summary struct {
	Questions int           `json:"questions"`
	Cuts      []Cut         `json:"cuts"`
	MRR       float64       `json:"mrr"` // mean reciprocal rank, over whole rankings
	P50, P99  time.Duration `json:"-"`   // latencies
}

// Summarize returns the means over the answers, with a Cut for each of ks in
// their order. Without answers all values are 0.
func Summarize(answers []Answer, ks []int) Summary {
	mean := func(measure func(Answer) float64) float64 {
		if len(answers) == 0 {
			return 0
		}
		values := make([]float64, len(answers))
		for i, a := range answers {
			values[i] = measure(a)
		}
		return stat.Mean(values, nil)
	}
	s := Summary{
		Questions: len(answers), Cuts: make([]Cut, len(ks)),
		MRR: mean(func(a Answer) float64 { return ReciprocalRank(a.Ranking, a.Judged) }),
	}
	for i, k := range ks {
		s.Cuts[i] = Cut{
			K:      k,
			Recall: mean(func(a Answer) float64 { return Recall(a.Ranking, a.Judged, k) }),
			NDCG:   mean(func(a Answer) float64 { return NDCG(a.Ranking, a.Judged, k) }),
			AllIn:  mean(func(a Answer) float64 { return AllIn(a.Ranking, a.Judged, k) }),
		}
	}
	latencies := make([]time.Duration, len(answers))
	for i, a := range answers {
		latencies[i] = a.Latency
	}
	s.P50, s.P99 = Percentile(latencies, 50), Percentile(latencies, 99)
	return s
}

// Percentile returns the smallest value that at least p percent of the values do
// not exceed (the nearest rank), or 0 without values. p is in (0,100]. The values
// may have any order, which is kept.
func Percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := make([]float64, len(values))
	for i, value := range values {
		sorted[i] = float64(value)
	}
	slices.Sort(sorted)
	return time.Duration(stat.Quantile(p/100, stat.Empirical, sorted, nil))
}
