package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// ranker orders texts by BM25 (Robertson and Zaragoza, The Probabilistic
// Relevance Framework, 2009, equation 3.15) with the usual k1 and b.
type ranker struct {
	counts  []map[string]int
	lengths []float64
	mean    float64
	holders map[string]int // number of texts that have the word
}

const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

func newRanker(texts []string) *ranker {
	r := &ranker{holders: map[string]int{}}
	for _, t := range texts {
		counts := map[string]int{}
		list := words(t)
		for _, w := range list {
			counts[w]++
		}
		for w := range counts {
			r.holders[w]++
		}
		r.counts = append(r.counts, counts)
		r.lengths = append(r.lengths, float64(len(list)))
		r.mean += float64(len(list)) / float64(len(texts))
	}
	return r
}

// rank returns the indexes of the texts that share a word with the question,
// best first; ties go to the earlier text.
func (r *ranker) rank(question string) []int {
	asked := words(question)
	scores := map[int]float64{}
	var order []int
	for i, counts := range r.counts {
		score := 0.0
		for _, w := range asked {
			n := float64(counts[w])
			if n == 0 {
				continue
			}
			holders := float64(r.holders[w])
			idf := math.Log(1 + (float64(len(r.counts))-holders+0.5)/(holders+0.5))
			score += idf * n * (bm25K1 + 1) / (n + bm25K1*(1-bm25B+bm25B*r.lengths[i]/r.mean))
		}
		if score > 0 {
			scores[i] = score
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order
}

// words returns the words of a text in lower case, without a plural s.
func words(text string) []string {
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for i, w := range list {
		if len(w) > 3 {
			list[i] = strings.TrimSuffix(w, "s")
		}
	}
	return list
}
