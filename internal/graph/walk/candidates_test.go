package walk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// randomEmbeddings returns n vectors around a few centres, so that cosines of all
// sizes occur.
func randomEmbeddings(random *rand.Rand, n, dimension int) [][]float64 {
	embeddings := make([][]float64, n)
	for i := range embeddings {
		embeddings[i] = make([]float64, dimension)
		for j := range embeddings[i] {
			embeddings[i][j] = random.NormFloat64()
		}
		if i >= 10 {
			floats.AddScaled(embeddings[i], 4*random.Float64(), embeddings[i%10])
		}
	}
	return embeddings
}

func newCandidates(t testing.TB, embeddings [][]float64, threshold float64) *Candidates {
	t.Helper()
	c, err := NewCandidates(t.Context(), embeddings, threshold)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCandidatesAreConnectedByTheirCosine(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 2))
	embeddings := randomEmbeddings(random, 2*blockRows+7, 33)
	embeddings[5] = make([]float64, 33)                                         // no direction
	embeddings[6] = floats.ScaleTo(make([]float64, 33), 1e-20, embeddings[7])   // the direction of another
	embeddings[8] = floats.ScaleTo(make([]float64, 33), -1e30, embeddings[9])   // the opposite of another
	embeddings[70] = floats.ScaleTo(make([]float64, 33), 1e-30, embeddings[69]) // the same, in another block
	cos := func(a, b []float64) float64 {
		if floats.Norm(a, 2) == 0 || floats.Norm(b, 2) == 0 {
			return 0
		}
		return floats.Dot(a, b) / floats.Norm(a, 2) / floats.Norm(b, 2)
	}
	boundary := cos(embeddings[100], embeddings[20])
	for _, threshold := range []float64{-1, 0, 0.3, boundary + 1e-12, boundary - 1e-12, 0.9, 1} {
		var edges []Edge
		for i, a := range embeddings {
			for j, b := range embeddings {
				if c := cos(a, b); i != j && c > threshold && c < 1+1e-12 {
					edges = append(edges, Edge{int32(i), int32(j), c})
				}
			}
		}
		want, got := NewAdjacency(len(embeddings), edges, 0), newCandidates(t, embeddings, threshold).adjacency
		if threshold < 1 && got.EdgeCount() != want.EdgeCount() {
			t.Errorf("threshold %v: %d edges, want %d", threshold, got.EdgeCount(), want.EdgeCount())
			continue
		}
		if threshold < 1 && !floats.EqualApprox(got.shares, want.shares, 1e-12) {
			t.Errorf("threshold %v: the weights differ", threshold)
		}
		if threshold == 1 && got.EdgeCount() != 0 {
			t.Errorf("%d cosines are above 1", got.EdgeCount())
		}
	}
}

func TestNoCandidatesAreAGraph(t *testing.T) {
	t.Parallel()
	for _, embeddings := range [][][]float64{nil, {{}, {}}} {
		ranked, err := newCandidates(t, embeddings, 0.5).Rank(t.Context(), nil, 3, Options{Restart: 0.5})
		if err != nil || len(ranked) != len(embeddings) {
			t.Errorf("ranked %v, error %v", ranked, err)
		}
	}
}

func TestCancellingEndsTheComparisonOfCandidates(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewCandidates(ctx, [][]float64{{1}, {2}}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}

// Ranking walks once from all seeds of one sign; the definition is one walk from
// each seed, also for seeds that point away from the question and for candidates
// without edges.
func TestCandidatesAreRankedByTheSumOfTheirSeedsWalks(t *testing.T) {
	t.Parallel()
	for trial := range uint64(50) {
		random := rand.New(rand.NewPCG(trial, 3))
		embeddings := make([][]float64, 30)
		for i := range embeddings {
			embeddings[i] = []float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
		}
		question := []float64{1, 0.5, -0.5}
		c := newCandidates(t, embeddings, 0.9)
		o := Options{Restart: 0.15, Steps: int(trial%3) * 50}
		seeds := make([]Scored, len(embeddings))
		for v, embedding := range embeddings {
			seeds[v] = Scored{int32(v), floats.Dot(question, embedding) / floats.Norm(question, 2) / floats.Norm(embedding, 2)}
		}
		want := make([]float64, len(embeddings))
		for _, seed := range seeds {
			floats.AddScaled(want, seed.Score, walked(t, c.adjacency, []Seed{{seed.Node, 1}}, o))
		}
		got, err := c.walk(t.Context(), seeds, o)
		if err != nil {
			t.Fatal(err)
		}
		for v := range got {
			if math.Abs(got[v]-want[v]) > 1e-8 {
				t.Fatalf("trial %d: candidate %d has %v, want %v", trial, v, got[v], want[v])
			}
		}
	}
}

func BenchmarkNewCandidates(b *testing.B) {
	for _, size := range []struct{ nodes, dimension int }{{100, 384}, {1000, 384}, {1000, 1536}} {
		embeddings := randomEmbeddings(rand.New(rand.NewPCG(1, 2)), size.nodes, size.dimension)
		for _, threshold := range []float64{0, 0.7} {
			b.Run(fmt.Sprintf("nodes=%d/dimension=%d/threshold=%v", size.nodes, size.dimension, threshold), func(b *testing.B) {
				for b.Loop() {
					newCandidates(b, embeddings, threshold)
				}
			})
		}
	}
}
