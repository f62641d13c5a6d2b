package measure

import (
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
)

// Answer is the ranking that one question got.
type Answer struct {
	Judged  Judgements
	Ranking Ranking
	Latency time.Duration
}

// Cut holds the measures of the first K positions.
type Cut struct {
	K      int     `json:"k"`
	Recall float64 `json:"recall"`
	NDCG   float64 `json:"ndcg"`
	AllIn  float64 `json:"allIn"`
}

// Result holds the measures of one question.
type Result struct {
	// Answerable is whether something is relevant. Other questions count only in
	// UnanswerableAUC, Precision and latencies.
	Answerable bool    `json:"answerable"`
	FirstRank  int     `json:"firstRank"` // of a relevant item; 0 if none was found
	Cuts       []Cut   `json:"cuts"`
	Reciprocal float64 `json:"reciprocal"` // 1/FirstRank, or 0

	// TopScore is the score of the best source; nil if nothing was found or its score is
	// not known.
	TopScore *float64 `json:"topScore"`
	// Above counts the sources that score more than the threshold of the measurement,
	// Right those of them that are relevant.
	Above int `json:"above"`
	Right int `json:"right"`

	Latency time.Duration `json:"latency"`
}

// Of returns the measures of an answer, with a Cut for each of ks in their order.
func Of(a Answer, ks []int) Result {
	r := Result{
		Answerable: a.Judged.Relevant() > 0, FirstRank: FirstRank(a.Ranking, a.Judged),
		Reciprocal: ReciprocalRank(a.Ranking, a.Judged), Latency: a.Latency, Cuts: make([]Cut, len(ks)),
	}
	for i, k := range ks {
		r.Cuts[i] = Cut{K: k, Recall: Recall(a.Ranking, a.Judged, k), NDCG: NDCG(a.Ranking, a.Judged, k), AllIn: AllIn(a.Ranking, a.Judged, k)}
	}
	return r
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
	results := make([]Result, len(answers))
	latencies := make([]time.Duration, len(answers))
	for i, a := range answers {
		results[i], latencies[i] = Of(a, ks), a.Latency
	}
	mean := func(of func(Result) float64) float64 {
		if len(results) == 0 {
			return 0
		}
		return stat.Mean(column(results, of), nil)
	}
	s := Summary{
		Questions: len(answers), Cuts: make([]Cut, len(ks)), MRR: mean(func(r Result) float64 { return r.Reciprocal }),
		P50: Percentile(latencies, 50), P99: Percentile(latencies, 99),
	}
	for i, k := range ks {
		s.Cuts[i] = Cut{
			K:      k,
			Recall: mean(func(r Result) float64 { return r.Cuts[i].Recall }),
			NDCG:   mean(func(r Result) float64 { return r.Cuts[i].NDCG }),
			AllIn:  mean(func(r Result) float64 { return r.Cuts[i].AllIn }),
		}
	}
	return s
}

// column returns a value of each result.
func column(results []Result, of func(Result) float64) []float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = of(r)
	}
	return values
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
