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
	squares := make([]float64, len(embeddings))
	for i, a := range embeddings {
		squares[i] = dot(a, a)
		for j, b := range embeddings[:i] {
			if similarity := cosine(dot(a, b), squares[i], squares[j]); similarity > threshold {
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
	scores := c.walks(nearest[:min(seeds, len(nearest))], w)
	ranked := make([]Scored, len(scores))
	for v, score := range scores {
		ranked[v] = Scored{int32(v), score}
	}
	sortScored(ranked)
	return ranked, nil
}

// walks returns the sum of the walks from each seed. Where a walker can always go
// on, what the walks do is linear in where they begin: one walk from all seeds,
// by their similarities, is the sum. Those that point away from the question make
// another, which counts against. A walker on a chunk that is linked to none stays.
func (c *Candidates) walks(seeds []Scored, w Walk) []float64 {
	scores := make([]float64, len(c.vectors))
	var toward, away []Seed
	for _, seed := range seeds {
		switch {
		case c.adjacency.isEnd(seed.Node):
			scores[seed.Node] += seed.Score
		case seed.Score > 0:
			toward = append(toward, Seed{seed.Node, seed.Score})
		default:
			away = append(away, Seed{seed.Node, -seed.Score})
		}
	}
	for _, side := range []struct {
		seeds []Seed
		sign  float64
	}{{toward, 1}, {away, -1}} {
		sum := 0.0
		for _, seed := range side.seeds {
			sum += seed.Weight
		}
		for v, share := range c.adjacency.Walk(side.seeds, w) {
			scores[v] += side.sign * sum * share
		}
	}
	return scores
}

func sortScored(s []Scored) {
	slices.SortFunc(s, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Node, b.Node))
	})
}

// Cosine returns the cosine of the angle between two vectors of one length, in
// [-1,1]; 0 if either is zero.
func Cosine(a, b []float64) float64 { return cosine(dot(a, b), dot(a, a), dot(b, b)) }

// cosine does so from the inner products.
func cosine(ab, aa, bb float64) float64 {
	if aa == 0 || bb == 0 {
		return 0
	}
	return max(-1, min(1, ab/math.Sqrt(aa*bb)))
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
