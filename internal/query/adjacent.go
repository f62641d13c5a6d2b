package query

import (
	"cmp"
	"slices"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
)

// The constants of adjacency, chosen by leaving one labelled set out at a time, see
// docs/explanation/retrieval.md.
const (
	// adjacentFactor is what a chunk with all pairs of a question scores for them, relative to their weight.
	adjacentFactor = 0.5
	// stopWeight is the weight of a stop word in a pair, in place of its inverse document frequency, which is not
	// counted.
	stopWeight = 0.5
	// maxPairs bounds the pairs that are looked for, of the largest weights.
	maxPairs = 32
)

// adjacency is what chunks score for words that stand side by side in the question and in them. It is
//
//	adjacentFactor * (sum of the weights of the pairs that the chunk has)^2 / sum of all weights
//
// where a pair weighs as much as the more frequent of its words. Few pairs of a long question are coincidence
// and score next to nothing, a sentence of a text much.
type adjacency struct {
	phrases []string // a tsquery of each pair
	weights []float64
	total   float64 // of the weights of all pairs, also those left out
}

// pairsOf returns the adjacency of a question, given what it asks and the terms that were looked up.
func (q queryTerms) pairsOf(question string, words []analyzer.Asked, languages []string) (a adjacency) {
	if len(q.terms) == 0 {
		return a
	}
	total := q.terms[0].Total
	weights := map[string]float64{} // by the first term of a word
	for _, t := range q.terms {
		if t.Word < len(words) && !t.Further {
			chunks := int64(1) // a hidden chunk must not show in a score
			if t.Visible {
				chunks = max(t.Frequent, 1)
			}
			weights[words[t.Word].Terms[0]] = index.InverseFrequency(chunks, total)
		}
	}
	type pair struct {
		phrase string
		weight float64
	}
	var pairs []pair
	for _, p := range analyzer.Pairs(question, languages) {
		weight := index.InverseFrequency(1, total)
		for n, word := range p.Words {
			if p.Stop[n] {
				weight = min(weight, stopWeight)
			} else if known, ok := weights[word]; ok {
				weight = min(weight, known)
			}
		}
		pairs, a.total = append(pairs, pair{p.Query, weight}), a.total+weight
	}
	slices.SortStableFunc(pairs, func(x, y pair) int { return cmp.Compare(y.weight, x.weight) })
	for _, p := range pairs[:min(maxPairs, len(pairs))] {
		a.phrases, a.weights = append(a.phrases, p.phrase), append(a.weights, p.weight)
	}
	return a
}

// adjacent returns what a chunk c scores for pairs of words as SQL. Ranks do not add up with it.
func (s search) adjacent(q *statement) string {
	if s.keywords == nil || s.keywords.pairs.total == 0 || s.request.mode == Hybrid && s.request.fusion.Method == RRF {
		return "0::float8"
	}
	pairs := s.keywords.pairs
	phrases, weights := q.args.Add(pairs.phrases), q.args.Add(pairs.weights)
	// Each tsquery is read once for all chunks, and each tsvector once for all pairs.
	return q.args.Add(adjacentFactor/pairs.total) + "::float8 * (SELECT coalesce(sum(p.weight), 0) ^ 2\n\t\t" +
		"FROM (SELECT c.terms || ''::tsvector AS terms OFFSET 0) AS t, unnest((SELECT " + phrases + "::text[]::tsquery[]), " + weights + "::float8[]) AS p (phrase, weight)\n\t\t" +
		"WHERE t.terms @@ p.phrase)"
}

// most returns what a chunk scores for pairs at most.
func (a adjacency) most() float64 {
	sum := 0.0
	for _, weight := range a.weights {
		sum += weight
	}
	if sum == 0 {
		return 0
	}
	return adjacentFactor * sum * sum / a.total
}
