package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomLinks returns links from each of n nodes to degree random ones.
func randomLinks(random *rand.Rand, n, degree int) []Link {
	links := make([]Link, 0, n*degree)
	for from := range n {
		for range degree {
			links = append(links, Link{int32(from), int32(random.IntN(n)), 0.5 + random.Float64()})
		}
	}
	return links
}

// sparse returns a graph with dead ends, unreachable parts and parallel links.
func sparse(random *rand.Rand) (int, []Link) {
	n := 2 + random.IntN(40)
	var links []Link
	for range random.IntN(3 * n) {
		links = append(links, Link{int32(random.IntN(n)), int32(random.IntN(n)), random.Float64() * 3})
	}
	return n, links
}

func someSeeds(random *rand.Rand, n int) []Seed {
	seeds := make([]Seed, 1+random.IntN(4))
	for i := range seeds {
		seeds[i] = Seed{int32(random.IntN(n)), 0.1 + random.Float64()}
	}
	return seeds
}

func TestWalkOfALine(t *testing.T) {
	t.Parallel()
	a := NewAdjacency(3, []Link{{0, 1, 2}, {1, 2, 5}}, Shape{})
	seeds := []Seed{{0, 7}}
	for _, c := range []struct {
		name string
		walk Walk
		want []float64
	}{
		{"one visit is the seed", Walk{Restart: 0.5, Steps: 1}, []float64{1, 0, 0}},
		{"two visits", Walk{Restart: 0.5, Steps: 2}, []float64{0.75, 0.25, 0}},
		{"for ever: each step halves, and the end leads back", Walk{Restart: 0.5}, []float64{4. / 7, 2. / 7, 1. / 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for v, share := range a.Walk(seeds, c.walk) {
				if math.Abs(share-c.want[v]) > 1e-9 {
					t.Errorf("node %d has %v, want %v", v, share, c.want[v])
				}
			}
		})
	}
}

func TestWalkWithoutSeedsIsNowhere(t *testing.T) {
	t.Parallel()
	a := NewAdjacency(2, []Link{{0, 1, 1}, {1, 0, math.NaN()}, {1, 0, math.Inf(1)}, {1, 0, -1}}, Shape{})
	if a.Links() != 1 {
		t.Errorf("%d links count, want 1", a.Links())
	}
	for _, seeds := range [][]Seed{nil, {{0, 0}}, {{1, -2}}} {
		if got := a.Walk(seeds, Walk{Restart: 0.5}); !slices.Equal(got, []float64{0, 0}) {
			t.Errorf("seeds %v give %v", seeds, got)
		}
	}
}

func TestPropertiesOfWalks(t *testing.T) {
	t.Parallel()
	for trial := range uint64(300) {
		random := rand.New(rand.NewPCG(trial, 1))
		n, links := sparse(random)
		seeds := someSeeds(random, n)
		walk := Walk{Restart: 0.05 + 0.9*random.Float64(), Tolerance: 1e-12}
		if trial%2 == 0 {
			walk.Steps = 1 + random.IntN(50)
		}
		shape := Shape{Damping: float64(trial%3) / 2, Least: float64(trial%4) / 2}
		shares := NewAdjacency(n, links, shape).Walk(seeds, walk)

		sum := 0.0
		for v, share := range shares {
			if share < 0 || math.IsNaN(share) {
				t.Fatalf("trial %d: node %d has %v", trial, v, share)
			}
			sum += share
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("trial %d: shares sum to %v", trial, sum)
		}

		shuffled := slices.Clone(links)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again := NewAdjacency(n, shuffled, shape).Walk(seeds, walk); !slices.Equal(again, shares) {
			t.Fatalf("trial %d: shares depend on the order of links", trial)
		}

		seeds[0].Weight *= 1.5
		if more := NewAdjacency(n, links, shape).Walk(seeds, walk); more[seeds[0].Node] < shares[seeds[0].Node]-1e-9 {
			t.Fatalf("trial %d: a seed with more weight went from %v down to %v", trial, shares[seeds[0].Node], more[seeds[0].Node])
		}
	}
}

func TestLongWalksComeCloseToEndlessOnes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 5))
	a := NewAdjacency(200, randomLinks(random, 200, 4), Shape{})
	seeds := someSeeds(random, 200)
	long, endless := a.Walk(seeds, Walk{Restart: 0.15, Steps: 200_000}), a.Walk(seeds, Walk{Restart: 0.15})
	for v := range long {
		if math.Abs(long[v]-endless[v]) > 1e-4 {
			t.Errorf("node %d: %v and %v", v, long[v], endless[v])
		}
	}
}

func TestEndlessWalkKeepsItsTolerance(t *testing.T) {
	t.Parallel()
	// Two nodes that take turns are the slowest to settle.
	pair := NewAdjacency(2, []Link{{0, 1, 1}, {1, 0, 1}}, Shape{})
	for _, restart := range []float64{0.01, 0.15, 0.5, 0.99} {
		got := pair.Walk([]Seed{{0, 1}}, Walk{Restart: restart, Tolerance: 1e-6})
		exact := 1 / (2 - restart)
		if off := 2 * math.Abs(got[0]-exact); off > 1e-6 {
			t.Errorf("restart %v: off by %v", restart, off)
		}
	}
}

func TestDampingMakesHubsLessAttractive(t *testing.T) {
	t.Parallel()
	// Everything points to 0; the seed points to 0 and to 1 alike.
	links := []Link{{5, 0, 1}, {5, 1, 1}, {2, 0, 1}, {3, 0, 1}, {4, 0, 1}}
	seeds := []Seed{{5, 1}}
	plain := NewAdjacency(6, links, Shape{}).Walk(seeds, Walk{Restart: 0.5})
	damped := NewAdjacency(6, links, Shape{Damping: 1}).Walk(seeds, Walk{Restart: 0.5})
	if plain[0] != plain[1] {
		t.Errorf("without damping the hub has %v, the other %v", plain[0], plain[1])
	}
	if ratio := damped[1] / damped[0]; math.Abs(ratio-4) > 1e-9 {
		t.Errorf("damped, the other has %v times the hub's share, want 4", ratio)
	}
}

func BenchmarkWalk(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			a := NewAdjacency(n, randomLinks(random, n, 16), Shape{})
			seeds := someSeeds(random, n)
			for b.Loop() {
				a.Walk(seeds, Walk{Restart: 0.15})
			}
		})
	}
}

func BenchmarkNewAdjacency(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	links := randomLinks(random, 10_000, 16)
	for b.Loop() {
		NewAdjacency(10_000, links, Shape{})
	}
}
