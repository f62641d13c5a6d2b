package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ragdhq/ragd/internal/graph/walk"
)

func TestEdgesAreFollowedWhereWalkersArrive(t *testing.T) {
	t.Parallel()
	chunk := func(id string) ChunkRef { return ChunkRef{DocumentID: id} }
	n := newNeighborhood([]seed{{ChunkRef: chunk("seed"), weight: 3}, {ChunkRef: chunk("other"), weight: 1}}, nil)
	if due := n.due(); !slices.Equal(due, []ChunkRef{chunk("seed"), chunk("other")}) {
		t.Fatalf("first due are %v", due)
	}
	for _, edge := range []chunkEdge{
		{from: chunk("seed"), to: chunk("often"), weight: 1.9998}, {from: chunk("seed"), to: chunk("rarely"), weight: 0.0002},
		{from: chunk("other"), to: chunk("seed"), weight: 0.5}, {from: chunk("other"), to: chunk("weak"), weight: 0.0005},
	} {
		n.add(edge)
	}
	n.spread(n.edges, 0.5)
	if due := n.due(); !slices.Equal(due, []ChunkRef{chunk("often")}) {
		t.Errorf("then due are %v", due)
	}
	// 3/4 of the walks begin at seed, half of them go on; an edge of weight 0.0005 is taken that often.
	for id, want := range map[string]float64{"often": 0.75 * 0.5 * 0.9999, "rarely": 0.75 * 0.5 * 0.0001, "weak": 0.25 * 0.5 * 0.0005} {
		if got := n.arriving[chunk(id)]; math.Abs(got-want) > 1e-12 {
			t.Errorf("at %s arrive %v, want %v", id, got, want)
		}
	}
}

// TestWhatIsNotFollowedHardlyMatters compares the scores of walks over all of a graph with those over the
// neighborhood that is loaded.
func TestWhatIsNotFollowedHardlyMatters(t *testing.T) {
	t.Parallel()
	const chunks, seeds, hops, goOn = 3000, 10, 3, 0.5
	random := rand.New(rand.NewPCG(5, 5))
	ref := func(n int) ChunkRef { return ChunkRef{DocumentID: fmt.Sprintf("%04d", n)} }
	edges := map[ChunkRef][]chunkEdge{}
	for from := range chunks {
		for range random.IntN(20) {
			edges[ref(from)] = append(edges[ref(from)], chunkEdge{from: ref(from), to: ref(random.IntN(chunks)), weight: math.Pow(random.Float64(), 4)})
		}
	}
	var starts []seed
	for n := range seeds {
		starts = append(starts, seed{ChunkRef: ref(n), weight: foundSeedWeight(n)})
	}
	scores := func(all bool) (map[ChunkRef]float64, int) {
		n, asked := newNeighborhood(starts, nil), 0
		for range hops {
			due := n.due()
			if all {
				for _, chunk := range n.chunks {
					if !n.followed[chunk] {
						n.followed[chunk] = true
						due = append(due, chunk)
					}
				}
			}
			asked += len(due)
			first := len(n.edges)
			for _, chunk := range due {
				for _, edge := range edges[chunk] {
					n.add(edge)
				}
			}
			n.spread(n.edges[first:], goOn)
		}
		n.buildAdjacency()
		found, err := n.walk(t.Context(), starts, walk.Options{Restart: 1 - goOn})
		if err != nil {
			t.Fatal(err)
		}
		out := map[ChunkRef]float64{}
		for node, score := range found {
			out[n.chunks[node]] = score
		}
		return out, asked
	}
	whole, everything := scores(true)
	part, asked := scores(false)
	if asked*2 > everything {
		t.Errorf("the edges of %d of %d chunks were followed", asked, everything)
	}
	for chunk, want := range whole {
		if got := part[chunk]; math.Abs(got-want) > 10*leastArriving {
			t.Errorf("%v scores %v, want %v", chunk, got, want)
		}
	}
}
