// Package evaluate measures the quality of rankings of documents against
// judgements of which documents are relevant. It is pure: rankings in, numbers
// out.
//
//	judged, err := evaluate.ReadQrels("qrels.tsv", file)
//	recall := evaluate.Recall(ranking, judged["q1"], 5)
//
// In every function a ranking is a list of document ids, best first. Only the
// first occurrence of a document counts, as several of its chunks may have been
// found, and k is a number of distinct documents.
package evaluate

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Judgements holds the relevance of the documents judged for one question, by id.
// A document is relevant if its value is above 0.
type Judgements map[string]float64

// Relevant counts the relevant documents.
func (j Judgements) Relevant() int {
	n := 0
	for _, relevance := range j {
		if relevance > 0 {
			n++
		}
	}
	return n
}

// Recall returns the fraction of the relevant documents that are among the first
// k, in [0,1]; 0 if no document is relevant.
func Recall(ranking []string, j Judgements, k int) float64 {
	all := j.Relevant()
	if all == 0 {
		return 0
	}
	found := 0
	for _, relevance := range gains(ranking, j, k) {
		if relevance > 0 {
			found++
		}
	}
	return float64(found) / float64(all)
}

// AllIn returns 1 if every relevant document is among the first k, else 0. It
// suits questions that need several documents at once.
func AllIn(ranking []string, j Judgements, k int) float64 {
	if Recall(ranking, j, k) == 1 {
		return 1
	}
	return 0
}

// ReciprocalRank returns 1/rank of the first relevant document, 0 if there is none
// in the ranking. Its mean over questions is the MRR.
func ReciprocalRank(ranking []string, j Judgements) float64 {
	for i, relevance := range gains(ranking, j, len(ranking)) {
		if relevance > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

// NDCG returns the normalised discounted cumulative gain of the first k, in [0,1]:
// the sum of relevance/log2(rank+1), divided by that of the best possible ranking
// (Järvelin and Kekäläinen 2002, with gains linear in the relevance, as ndcg_cut
// of trec_eval). 0 if no document is relevant.
func NDCG(ranking []string, j Judgements, k int) float64 {
	best := slices.SortedFunc(maps.Values(j), func(a, b float64) int { return cmp.Compare(b, a) })
	ideal := discounted(best[:min(k, len(best))])
	if ideal == 0 {
		return 0
	}
	return discounted(gains(ranking, j, k)) / ideal
}

// gains returns the relevances of the first k distinct documents of the ranking.
func gains(ranking []string, j Judgements, k int) []float64 {
	seen := make(map[string]bool, min(k, len(ranking)))
	var out []float64
	for _, id := range ranking {
		if len(out) == k {
			break
		}
		if !seen[id] {
			seen[id] = true
			out = append(out, j[id])
		}
	}
	return out
}

// discounted returns the discounted cumulative gain.
func discounted(gains []float64) float64 {
	sum := 0.0
	for i, gain := range gains {
		sum += max(gain, 0) / math.Log2(float64(i)+2)
	}
	return sum
}
