package query

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/ragdhq/ragd/internal/index"
)

// clustered returns n embeddings around a few centres, and a question near one of them.
func clustered(r *rand.Rand, n, dimension int) (values, question []float32) {
	const centres = 20
	of := make([]float32, centres*dimension)
	for i := range of {
		of[i] = float32(r.NormFloat64())
	}
	draw := func() []float32 {
		v := slices.Clone(of[r.IntN(centres)*dimension:][:dimension])
		for i := range v {
			v[i] += float32(0.4 * r.NormFloat64())
		}
		return v
	}
	for range n {
		values = append(values, draw()...)
	}
	return values, draw()
}

// distances returns the distances of embeddings from a question, as pgvector computes them, but in 64 bits.
func distances(i index.Index, values, question []float32) []float64 {
	out := make([]float64, len(values)/i.Dimension)
	for n := range out {
		var dot, square, own, apart float64
		for k, x := range values[n*i.Dimension:][:i.Dimension] {
			x, q := float64(x), float64(question[k])
			dot, square, own, apart = dot+x*q, square+x*x, own+q*q, apart+(x-q)*(x-q)
		}
		switch i.Metric {
		case index.Cosine:
			out[n] = 1 - dot/math.Sqrt(square*own)
		case index.Euclidean:
			out[n] = math.Sqrt(apart)
		default:
			out[n] = -dot
		}
	}
	return out
}

// The nearest chunks are always among those that codes leave, by each metric, and codes leave few.
func TestCodesLeaveTheNearestChunks(t *testing.T) {
	t.Parallel()
	for _, metric := range []index.Metric{index.Cosine, index.Euclidean, index.DotProduct} {
		for _, dimension := range []int{1, 3, 17, 64, 384} {
			i := index.Index{Metric: metric, Dimension: dimension, VectorType: index.Vector}
			if !codable(i) {
				t.Skip("this processor has no instructions for products of 8-bit integers")
			}
			r := rand.New(rand.NewPCG(uint64(dimension), 7))
			for _, n := range []int{1, 9, 33, 700} {
				values, question := clustered(r, n, dimension)
				if n > 9 { // one without a direction, and two that are the same
					clear(values[:dimension])
					copy(values[dimension:], values[2*dimension:][:dimension])
				}
				exact := distances(i, values, question)
				c := newCodes(i, slices.Clone(values))
				for _, wanted := range []int{1, 10, 50} {
					left := c.nearest(question, wanted)
					best := every(n)
					slices.SortStableFunc(best, func(a, b int) int { return compareNaNLast(exact[a], exact[b]) })
					for _, at := range best[:min(wanted, n)] {
						if !slices.Contains(left, at) {
							t.Errorf("%s, %d dimensions, %d chunks: the nearest %d lack number %d at %g of %g", metric, dimension, n, wanted, at, exact[at], exact[best[0]])
						}
					}
					if n == 700 && dimension == 384 && len(left) > wanted+60 {
						t.Errorf("%s, %d dimensions: %d are left for %d wanted", metric, dimension, len(left), wanted)
					}
				}
				if left := c.nearest(make([]float32, dimension), 1); len(left) != n {
					t.Errorf("%s: a question of length 0 leaves %d of %d", metric, len(left), n)
				}
			}
		}
	}
}

func compareNaNLast(a, b float64) int {
	switch {
	case math.IsNaN(a):
		return +1
	case math.IsNaN(b):
		return -1
	}
	return cmp.Compare(a, b)
}

func BenchmarkCodes(b *testing.B) {
	for _, dimension := range []int{384, 1_536} {
		for _, n := range []int{200, 2_000, 5_000} {
			i := index.Index{Metric: index.Cosine, Dimension: dimension, VectorType: index.Vector}
			values, question := clustered(rand.New(rand.NewPCG(1, 2)), n, dimension)
			blas32.Scal(0.1, blasVector(question))
			b.Run(fmt.Sprintf("make/%d/%d", dimension, n), func(b *testing.B) {
				for b.Loop() {
					newCodes(i, slices.Clone(values))
				}
			})
			c := newCodes(i, values)
			b.Run(fmt.Sprintf("nearest/%d/%d", dimension, n), func(b *testing.B) {
				left := 0
				for b.Loop() {
					left = len(c.nearest(question, 10))
				}
				b.ReportMetric(float64(left), "left")
			})
		}
	}
}
