package graph

import (
	"cmp"
	"math"
	"slices"

	"github.com/ragdhq/ragd/internal/fault"
)

// Candidates is the graph that comparable retrieval libraries build of what a
// search found: every two chunks whose embeddings have a cosine above the
// threshold are linked both ways, the cosine being the weight.
type Candidates struct {
	adjacency *Adjacency
	vectors   [][]float64
}

// NewCandidates compares every two embeddings, which have one length: time is
// quadratic in their number.
func NewCandidates(embeddings [][]float64, threshold float64) *Candidates {
	var links []Link
	for i, a := range embeddings {
		for j, b := range embeddings[:i] {
			if similarity := Cosine(a, b); similarity > threshold {
				links = append(links, Link{int32(i), int32(j), similarity}, Link{int32(j), int32(i), similarity})
			}
		}
	}
	return &Candidates{NewAdjacency(len(embeddings), links, Shape{}), embeddings}
}

// Scored is a node with its score.
type Scored struct {
	Node  int32
	Score float64
}

// Rank returns all candidates, best first, ties by node. The seeds nearest to
// the question each start a walk of their own; a node's score is the sum over
// these walks of the seed's similarity to the question times the share of the
// walk spent on the node. Scores are no probabilities: they sum to the sum of
// the similarities, and a seed that points away from the question counts against
// its neighbours. Errors: Invalid when the question has another length.
func (c *Candidates) Rank(question []float64, seeds int, w Walk) ([]Scored, error) {
	nearest := make([]Scored, len(c.vectors))
	for v, vector := range c.vectors {
		if len(vector) != len(question) {
			return nil, fault.Field("queryVector", "has %d dimensions, but the candidates have %d", len(question), len(vector))
		}
		nearest[v] = Scored{int32(v), Cosine(question, vector)}
	}
	sortScored(nearest)
	scores := make([]float64, len(c.vectors))
	for _, seed := range nearest[:min(seeds, len(nearest))] {
		shares := c.adjacency.Walk([]Seed{{seed.Node, 1}}, w)
		for v, share := range shares {
			scores[v] += seed.Score * share
		}
	}
	ranked := make([]Scored, len(scores))
	for v, score := range scores {
		ranked[v] = Scored{int32(v), score}
	}
	sortScored(ranked)
	return ranked, nil
}

func sortScored(s []Scored) {
	slices.SortFunc(s, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Node, b.Node))
	})
}

// Cosine returns the cosine of the angle between two vectors of one length, in
// [-1,1]; 0 if either is zero.
func Cosine(a, b []float64) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += a[i] * b[i]
		aa += a[i] * a[i]
		bb += b[i] * b[i]
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return max(-1, min(1, dot/math.Sqrt(aa*bb)))
}
