package graph

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Scores are sums of one walk from each seed, however they are worked out: with
// seeds that point away from the question and chunks that nothing is like.
func TestCandidatesAreRankedByTheSumOfTheirSeedsWalks(t *testing.T) {
	t.Parallel()
	for trial := range uint64(50) {
		random := rand.New(rand.NewPCG(trial, 3))
		embeddings := make([][]float64, 30)
		for i := range embeddings {
			embeddings[i] = []float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
		}
		question := []float64{1, 0.5, -0.5}
		c := NewCandidates(embeddings, 0.9)
		w := Walk{Restart: 0.15, Steps: int(trial%3) * 50}
		seeds := make([]Scored, len(embeddings))
		for v, embedding := range embeddings {
			seeds[v] = Scored{int32(v), Cosine(question, embedding)}
		}
		want := make([]float64, len(embeddings))
		for _, seed := range seeds {
			for v, share := range c.adjacency.Walk([]Seed{{seed.Node, 1}}, w) {
				want[v] += seed.Score * share
			}
		}
		for v, got := range c.walks(seeds, w) {
			if math.Abs(got-want[v]) > 1e-8 {
				t.Fatalf("trial %d: candidate %d has %v, want %v", trial, v, got, want[v])
			}
		}
	}
}

func TestAWalkEndsWhenItIsDone(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	close(done)
	a := NewAdjacency(2, []Link{{0, 1, 1}, {1, 0, 1}}, Shape{})
	for _, steps := range []int{0, math.MaxInt} {
		a.Walk([]Seed{{0, 1}}, Walk{Restart: 1e-300, Steps: steps, Done: done}) // ends
	}
}
