// Package measure computes how good rankings are, given judgements of what is relevant. It
// is pure: rankings in, numbers out.
//
//	ranking := measure.Documents(uris)
//	recall := measure.Recall(ranking, measure.Judgements{"travel.md": 1}, 5)
//
// What is judged is an item: a document, a span of one, or an answer to be found. A ranking
// is a list of positions, best first, each with the items that are found there. Only the
// first occurrence of an item counts, and k is a number of positions.
package measure

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Judgements holds the relevance of the items judged for one question, by id. An item is
// relevant if its value is above 0.
type Judgements map[string]float64

// Relevant counts the relevant items.
func (j Judgements) Relevant() int {
	n := 0
	for _, relevance := range j {
		if relevance > 0 {
			n++
		}
	}
	return n
}

// Ranking holds the ids of the items found at each position, best position first. A
// position may have none.
type Ranking [][]string

// Documents returns the ranking of the documents of a list of chunks, each at the position
// of its first chunk.
func Documents(uris []string) Ranking {
	seen := make(map[string]bool, len(uris))
	var r Ranking
	for _, uri := range uris {
		if !seen[uri] {
			seen[uri] = true
			r = append(r, []string{uri})
		}
	}
	return r
}

// Recall returns the fraction of the relevant items that are among the first k positions,
// in [0,1]; 0 if no item is relevant.
func Recall(r Ranking, j Judgements, k int) float64 {
	all := j.Relevant()
	if all == 0 {
		return 0
	}
	return float64(all-len(Missing(r, j, k))) / float64(all)
}

// Missing returns the relevant items that are not among the first k positions, sorted.
func Missing(r Ranking, j Judgements, k int) []string {
	found := map[string]bool{}
	for _, items := range r[:min(k, len(r))] {
		for _, item := range items {
			found[item] = true
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(j)), func(item string) bool {
		return j[item] <= 0 || found[item]
	})
}

// AllIn returns 1 if every relevant item is among the first k positions, else 0. It suits
// questions that need several documents at once.
func AllIn(r Ranking, j Judgements, k int) float64 {
	if Recall(r, j, k) == 1 {
		return 1
	}
	return 0
}

// FirstRank returns the position of the first relevant item, from 1; 0 if there is none.
func FirstRank(r Ranking, j Judgements) int {
	for i, items := range r {
		if slices.ContainsFunc(items, func(item string) bool { return j[item] > 0 }) {
			return i + 1
		}
	}
	return 0
}

// ReciprocalRank returns 1/rank of the first relevant item, 0 if there is none in the
// ranking. Its mean over questions is the MRR.
func ReciprocalRank(r Ranking, j Judgements) float64 {
	if rank := FirstRank(r, j); rank > 0 {
		return 1 / float64(rank)
	}
	return 0
}

// NDCG returns the normalised discounted cumulative gain of the first k positions, in [0,1]:
// the sum of relevance/log2(rank+1), divided by that of the best possible ranking
// (Järvelin and Kekäläinen 2002, with gains linear in the relevance, as ndcg_cut
// of trec_eval). 0 if no item is relevant. The best possible ranking has one item at a
// position, so a ranking with several at one is cut to 1.
func NDCG(r Ranking, j Judgements, k int) float64 {
	best := slices.SortedFunc(maps.Values(j), func(a, b float64) int { return cmp.Compare(b, a) })
	ideal := discounted(best[:min(k, len(best))])
	if ideal == 0 {
		return 0
	}
	return min(1, discounted(gains(r, j, k))/ideal)
}

// gains returns the relevances of the first k positions, each item counted once.
func gains(r Ranking, j Judgements, k int) []float64 {
	seen := make(map[string]bool, min(k, len(r)))
	out := make([]float64, min(k, len(r)))
	for i := range out {
		for _, item := range r[i] {
			if !seen[item] {
				seen[item] = true
				out[i] += max(j[item], 0)
			}
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
