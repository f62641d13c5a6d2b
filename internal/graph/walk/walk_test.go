package walk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomEdges returns edges from each of n nodes to degree random ones.
func randomEdges(random *rand.Rand, n, degree int) []Edge {
	edges := make([]Edge, 0, n*degree)
	for from := range n {
		for range degree {
			edges = append(edges, Edge{int32(from), int32(random.IntN(n)), 0.5 + random.Float64()})
		}
	}
	return edges
}

// sparse returns a graph with sinks, unreachable nodes and parallel edges.
func sparse(random *rand.Rand) (int, []Edge) {
	n := 2 + random.IntN(40)
	var edges []Edge
	for range random.IntN(3 * n) {
		edges = append(edges, Edge{int32(random.IntN(n)), int32(random.IntN(n)), random.Float64() * 3})
	}
	return n, edges
}

func someSeeds(random *rand.Rand, n int) []Seed {
	seeds := make([]Seed, 1+random.IntN(4))
	for i := range seeds {
		seeds[i] = Seed{int32(random.IntN(n)), 0.1 + random.Float64()}
	}
	return seeds
}

// walked returns the scores of a walk.
func walked(t testing.TB, a *Adjacency, seeds []Seed, o Options) []float64 {
	t.Helper()
	scores, err := a.Walk(t.Context(), seeds, o)
	if err != nil {
		t.Fatal(err)
	}
	return scores
}

func TestWalkOfALine(t *testing.T) {
	t.Parallel()
	a := NewAdjacency(3, []Edge{{0, 1, 2}, {1, 2, 5}}, 0)
	seeds := []Seed{{0, 7}}
	for _, c := range []struct {
		name    string
		options Options
		want    []float64
	}{
		{"one visit is the seed", Options{Restart: 0.5, Steps: 1}, []float64{1, 0, 0}},
		{"two visits", Options{Restart: 0.5, Steps: 2}, []float64{0.75, 0.25, 0}},
		{"without end: each step halves, and the sink leads back", Options{Restart: 0.5}, []float64{4. / 7, 2. / 7, 1. / 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for v, score := range walked(t, a, seeds, c.options) {
				if math.Abs(score-c.want[v]) > 1e-9 {
					t.Errorf("node %d has %v, want %v", v, score, c.want[v])
				}
			}
		})
	}
}

func TestWalkWithoutSeedsHasNoScores(t *testing.T) {
	t.Parallel()
	a := NewAdjacency(2, []Edge{{0, 1, 1}, {1, 0, math.NaN()}, {1, 0, math.Inf(1)}, {1, 0, -1}}, 0)
	if a.EdgeCount() != 1 {
		t.Errorf("%d edges are valid, want 1", a.EdgeCount())
	}
	for _, seeds := range [][]Seed{nil, {{0, 0}}, {{1, -2}}} {
		if got := walked(t, a, seeds, Options{Restart: 0.5}); !slices.Equal(got, []float64{0, 0}) {
			t.Errorf("seeds %v give %v", seeds, got)
		}
	}
}

func TestPropertiesOfWalks(t *testing.T) {
	t.Parallel()
	for trial := range uint64(300) {
		random := rand.New(rand.NewPCG(trial, 1))
		n, edges := sparse(random)
		seeds := someSeeds(random, n)
		options := Options{Restart: 0.05 + 0.9*random.Float64(), Tolerance: 1e-12}
		if trial%2 == 0 {
			options.Steps = 1 + random.IntN(50)
		}
		least := float64(trial%4) / 2
		scores := walked(t, NewAdjacency(n, edges, least), seeds, options)

		sum := 0.0
		for v, score := range scores {
			if score < 0 || math.IsNaN(score) {
				t.Fatalf("trial %d: node %d has %v", trial, v, score)
			}
			sum += score
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("trial %d: scores sum to %v", trial, sum)
		}

		shuffled := slices.Clone(edges)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again := walked(t, NewAdjacency(n, shuffled, least), seeds, options); !slices.Equal(again, scores) {
			t.Fatalf("trial %d: scores depend on the order of edges", trial)
		}

		seeds[0].Weight *= 1.5
		if more := walked(t, NewAdjacency(n, edges, least), seeds, options); more[seeds[0].Node] < scores[seeds[0].Node]-1e-9 {
			t.Fatalf("trial %d: a seed with more weight went from %v down to %v", trial, scores[seeds[0].Node], more[seeds[0].Node])
		}
	}
}

func TestLongWalksComeCloseToEndlessOnes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 5))
	a := NewAdjacency(200, randomEdges(random, 200, 4), 0)
	seeds := someSeeds(random, 200)
	long, endless := walked(t, a, seeds, Options{Restart: 0.15, Steps: 200_000}), walked(t, a, seeds, Options{Restart: 0.15})
	for v := range long {
		if math.Abs(long[v]-endless[v]) > 1e-4 {
			t.Errorf("node %d: %v and %v", v, long[v], endless[v])
		}
	}
}

func TestEndlessWalkKeepsItsTolerance(t *testing.T) {
	t.Parallel()
	// Two nodes that take turns are the slowest to settle.
	pair := NewAdjacency(2, []Edge{{0, 1, 1}, {1, 0, 1}}, 0)
	for _, restart := range []float64{0.01, 0.15, 0.5, 0.99} {
		got := walked(t, pair, []Seed{{0, 1}}, Options{Restart: restart, Tolerance: 1e-6})
		exact := 1 / (2 - restart)
		if off := 2 * math.Abs(got[0]-exact); off > 1e-6 {
			t.Errorf("restart %v: off by %v", restart, off)
		}
	}
}

func TestCancellingEndsAWalk(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := NewAdjacency(2, []Edge{{0, 1, 1}, {1, 0, 1}}, 0)
	for _, steps := range []int{0, math.MaxInt} {
		scores, err := a.Walk(ctx, []Seed{{0, 1}}, Options{Restart: 1e-300, Steps: steps})
		if scores != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%d steps: got %v and error %v", steps, scores, err)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			a := NewAdjacency(n, randomEdges(random, n, 16), 0)
			seeds := someSeeds(random, n)
			for b.Loop() {
				walked(b, a, seeds, Options{Restart: 0.15})
			}
		})
	}
}

func BenchmarkNewAdjacency(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	edges := randomEdges(random, 10_000, 16)
	for b.Loop() {
		NewAdjacency(10_000, edges, 0)
	}
}
