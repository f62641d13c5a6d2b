package rerank

import (
	"cmp"
	"math"
	"slices"
)

// firstStage returns the first TopK candidates in their original order.
func firstStage(request Request) []Ranked {
	ranked := make([]Ranked, min(request.TopK, len(request.Candidates)))
	for i := range ranked {
		score := finite(request.Candidates[i].Score)
		ranked[i] = Ranked{Index: i, Score: score, Details: Details{Vector: score, Position: position(i, len(request.Candidates))}}
	}
	return ranked
}

// combine computes the weighted score of every candidate and returns the best TopK,
// best first.
func combine(request Request, weights resolved, verdicts []verdict) []Ranked {
	n := len(verdicts)
	vectors := vectorScores(request)
	mean := meanScore(verdicts)
	query := analyze(request.QueryEmbedding)
	ranked := make([]Ranked, n)
	for i, v := range verdicts {
		d := Details{Semantic: v.score, Vector: vectors[i], Position: position(i, n), Query: query, Estimated: v.skipped}
		if v.err != nil {
			d.Semantic, d.Estimated = mean, true
		}
		score := weights.semantic*d.Semantic + weights.vector*d.Vector + weights.position*d.Position
		ranked[i] = Ranked{Index: i, Score: score * query.factor(), Details: d}
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return ranked[:min(request.TopK, n)]
}

func position(i, n int) float64 { return 1 - float64(i)/float64(n) }

func vectorScores(request Request) []float64 {
	scores := make([]float64, len(request.Candidates))
	for i, c := range request.Candidates {
		scores[i] = finite(c.Score)
	}
	if !request.NormalizeScores {
		return scores
	}
	low, high := slices.Min(scores), slices.Max(scores)
	for i := range scores {
		if high > low {
			scores[i] = (scores[i] - low) / (high - low)
		} else {
			scores[i] = 1
		}
	}
	return scores
}

func meanScore(verdicts []verdict) float64 {
	var sum, n float64
	for _, v := range verdicts {
		if v.err == nil {
			sum += v.score
			n++
		}
	}
	return sum / max(1, n)
}

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
