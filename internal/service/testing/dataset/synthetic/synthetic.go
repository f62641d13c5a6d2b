// Package synthetic generates vectors for benchmarks and finds the exact nearest
// neighbours among them. The vectors are the same in every run.
package synthetic

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Dimension is the number of values of a vector, Centres the number of cluster centres.
const (
	Dimension = 384
	Centres   = 200
)

// spread is the standard deviation of the noise of each value. That of a centre's values
// is 1.
const spread = 0.6

// Vectors returns n vectors in clusters, as embeddings of texts cluster by topic: each is
// a random point on the line between two centres plus noise. All seeds have the same
// centres, so that vectors of another seed can be used as queries.
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

// Metadata returns the metadata of vector n. Each field is named for a fraction 1/k, such
// as "tenth", and is 1 in about one of k vectors.
func Metadata(n int) map[string]any {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	return map[string]any{
		"half": float64(r.IntN(2)), "tenth": float64(r.IntN(10)), "twentieth": float64(r.IntN(20)),
		"hundredth": float64(r.IntN(100)), "thousandth": float64(r.IntN(1000)),
	}
}

// Nearest returns the indices of the k vectors with the highest cosine to the question,
// best first, ties by index. It considers only vectors whose field is 1, or all if field
// is empty.
func Nearest(vectors [][]float32, question []float32, field string, k int) []int {
	type scored struct {
		index int
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
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.index, b.index))
	})
	indices := make([]int, 0, k)
	for _, s := range all[:min(k, len(all))] {
		indices = append(indices, s.index)
	}
	return indices
}
