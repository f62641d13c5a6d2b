// Package synthetic makes vectors to measure with, and answers questions about
// them exactly. What it makes is the same in every run.
package synthetic

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Vectors have Dimension values and lie between Centres.
const (
	Dimension = 384
	Centres   = 200
)

// spread is the noise of each value, where a centre's values have deviation 1.
const spread = 0.6

// Vectors returns n vectors around common centres, as embeddings of texts are
// around topics: each is a point on the line between two centres, so that there
// is no gap around each, with noise of its own. The centres are the same for all
// seeds, so that vectors of another seed are questions about these.
func Vectors(n int, seed uint64) [][]float32 {
	centres := make([][]float32, Centres)
	fixed := rand.New(rand.NewPCG(7, 7))
	for c := range centres {
		centres[c] = make([]float32, Dimension)
		for i := range centres[c] {
			centres[c][i] = float32(fixed.NormFloat64())
		}
	}
	r := rand.New(rand.NewPCG(seed, 2))
	out := make([][]float32, n)
	for v := range out {
		out[v] = make([]float32, Dimension)
		a, b, share := centres[r.IntN(Centres)], centres[r.IntN(Centres)], float32(r.Float64())
		for i := range out[v] {
			out[v][i] = share*a[i] + (1-share)*b[i] + float32(r.NormFloat64()*spread)
		}
	}
	return out
}

// Metadata returns the metadata of vector n: the field for a share of 1/k is 1 in
// about one of k vectors.
func Metadata(n int) map[string]any {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	return map[string]any{
		"half": float64(r.IntN(2)), "tenth": float64(r.IntN(10)), "twentieth": float64(r.IntN(20)),
		"hundredth": float64(r.IntN(100)), "thousandth": float64(r.IntN(1000)),
	}
}

// Nearest returns the places of the k vectors nearest to the question by cosine,
// best first, of those whose field is 1; of all with an empty field.
func Nearest(vectors [][]float32, question []float32, field string, k int) []int {
	type scored struct {
		place int
		score float64
	}
	var all []scored
	for n, v := range vectors {
		if field != "" && Metadata(n)[field] != 1.0 {
			continue
		}
		var dot, length float64
		for i, x := range v {
			dot += float64(x) * float64(question[i])
			length += float64(x) * float64(x)
		}
		all = append(all, scored{n, dot / math.Sqrt(length)})
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.place, b.place))
	})
	places := make([]int, 0, k)
	for _, s := range all[:min(k, len(all))] {
		places = append(places, s.place)
	}
	return places
}
