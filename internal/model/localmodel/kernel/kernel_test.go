package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func random(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

// near fails unless every value is within tolerance of the expected one, relative to values above 1.
func near(t *testing.T, got []float32, want []float64, tolerance float64) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i])-want[i]) / max(1, math.Abs(want[i])); !(d <= tolerance) {
			t.Fatalf("value %d is %g, want %g", i, got[i], want[i])
		}
	}
}

func TestEveryEngineMultipliesMatricesOfAnyShape(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		for _, shape := range [][3]int{{1, 1, 1}, {2, 3, 5}, {3, 32, 32}, {5, 33, 31}, {7, 64, 33}, {12, 100, 64}, {13, 4, 96}, {31, 37, 70}, {64, 128, 40}} {
			t.Run(fmt.Sprint(engine, shape), func(t *testing.T) {
				t.Parallel()
				rows, k, columns := shape[0], shape[1], shape[2]
				a, w, bias := random(rows*(k+3), 1), random(k*columns, 2), random(columns, 3)
				packed := Pack(w, columns, k, bias)
				ldc := Stride(columns) + 5
				c := make([]float32, rows*ldc)
				for i := range c {
					c[i] = 77
				}
				engine.Multiply(c, ldc, a, k+3, rows, packed)
				for r := range rows {
					want := make([]float64, columns)
					for j := range want {
						want[j] = float64(bias[j])
						for i := range k {
							want[j] += float64(a[r*(k+3)+i]) * float64(w[j*k+i])
						}
					}
					near(t, c[r*ldc:], want, 1e-5)
					for _, x := range c[r*ldc+Stride(columns) : (r+1)*ldc] {
						if x != 77 {
							t.Fatal("a value after the last panel was overwritten")
						}
					}
				}
			})
		}
	}
}

func TestCopyPacksWhatTransposePacksOfTheTranspose(t *testing.T) {
	t.Parallel()
	const rows, columns = 37, 41
	matrix := random(rows*columns, 1)
	transpose := make([]float32, rows*columns)
	for r := range rows {
		for c := range columns {
			transpose[c*rows+r] = matrix[r*columns+c]
		}
	}
	var a, b Weights
	a.Copy(random(64*64, 2), 64, 64, 64) // leaves values that padding must hide
	a.Copy(matrix, rows, columns, columns)
	b.Transpose(transpose, columns, rows, rows)
	for i := range a.panels {
		if a.panels[i] != b.panels[i] {
			t.Fatalf("value %d is %g and %g", i, a.panels[i], b.panels[i])
		}
	}
}

func TestEveryEngineComputesGELU(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		x := append(random(1003, 4), -1e30, -20, -6, -5.5, float32(math.Copysign(0, -1)), 0, 1e-20, 5.5, 6, 20, 1e30)
		want := make([]float64, len(x))
		for i, v := range x {
			want[i] = float64(v) / 2 * (1 + math.Erf(float64(v)/math.Sqrt2))
		}
		engine.GELU(x)
		near(t, x, want, 3e-7)
	}
}

func TestEveryEngineComputesSoftmax(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		for _, n := range []int{1, 7, 8, 31, 32, 33, 250} {
			row := append(random(n, uint64(n)), make([]float32, Panel)...)[:n]
			if n > 7 {
				row[0], row[1] = 300, -3000
			}
			want, sum, greatest := make([]float64, n), 0.0, math.Inf(-1)
			for _, x := range row {
				greatest = max(greatest, float64(x)*0.25)
			}
			for i, x := range row {
				want[i] = math.Exp(float64(x)*0.25 - greatest)
				sum += want[i]
			}
			for i := range want {
				want[i] /= sum
			}
			engine.Softmax(row, 0.25)
			near(t, row, want, 3e-7)
		}
	}
}

func TestEveryEngineNormalises(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		for _, n := range []int{1, 8, 12, 384} {
			x, residual, weight, bias := random(n, 1), random(n, 2), random(n, 3), random(n, 4)
			var mean, variance float64
			for i := range x {
				mean += float64(x[i]+residual[i]) / float64(n)
			}
			for i := range x {
				variance += math.Pow(float64(x[i]+residual[i])-mean, 2) / float64(n)
			}
			want := make([]float64, n)
			for i := range x {
				want[i] = (float64(x[i]+residual[i])-mean)/math.Sqrt(variance+1e-5)*float64(weight[i]) + float64(bias[i])
			}
			engine.AddNorm(x, residual, weight, bias, 1e-5)
			near(t, x, want, 2e-6)
		}
	}
}

func BenchmarkMultiply(b *testing.B) {
	for _, engine := range Engines() {
		for _, rows := range []int{12, 250} {
			b.Run(fmt.Sprintf("%s/rows=%d", engine, rows), func(b *testing.B) {
				w := Pack(random(384*1536, 1), 1536, 384, nil)
				a, c := random(rows*384, 2), make([]float32, rows*1536)
				for b.Loop() {
					engine.Multiply(c, 1536, a, 384, rows, w)
				}
				b.ReportMetric(2*384*1536*float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
