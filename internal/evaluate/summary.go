package evaluate

import (
	"math"
	"slices"
	"time"
)

// Answer is what one question got.
type Answer struct {
	Judged  Judgements
	Ranking []string // ids of documents, best first
	Latency time.Duration
}

// Cut are the means of the measures that look at the first K documents.
type Cut struct {
	K      int     `json:"k"`
	Recall float64 `json:"recall"`
	NDCG   float64 `json:"ndcg"`
	AllIn  float64 `json:"allIn"`
}

// Summary are the means over the questions.
type Summary struct {
	Questions int           `json:"questions"`
	Cuts      []Cut         `json:"cuts"`
	MRR       float64       `json:"mrr"` // over the whole of each ranking
	P50, P99  time.Duration `json:"-"`
}

// Summarize returns the means over answers, with a Cut for each of ks in their
// order. All is 0 if there is no answer.
func Summarize(answers []Answer, ks []int) Summary {
	s := Summary{Questions: len(answers), Cuts: make([]Cut, len(ks))}
	latencies := make([]time.Duration, len(answers))
	share := 1 / float64(max(len(answers), 1))
	for i, k := range ks {
		s.Cuts[i].K = k
	}
	for i, a := range answers {
		latencies[i] = a.Latency
		s.MRR += share * ReciprocalRank(a.Ranking, a.Judged)
		for c := range s.Cuts {
			cut := &s.Cuts[c]
			cut.Recall += share * Recall(a.Ranking, a.Judged, cut.K)
			cut.NDCG += share * NDCG(a.Ranking, a.Judged, cut.K)
			cut.AllIn += share * AllIn(a.Ranking, a.Judged, cut.K)
		}
	}
	s.P50, s.P99 = Percentile(latencies, 50), Percentile(latencies, 99)
	return s
}

// Percentile returns the smallest of the values that at least p percent of them do
// not exceed (nearest rank), 0 if there is none. p is in (0,100]. The order of
// values does not matter and is left alone.
func Percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
