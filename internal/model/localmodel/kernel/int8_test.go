package kernel

import (
	"fmt"
	"math"
	"testing"
)

// product is a product of matrices in 8-bit integers, in plain Go.
type product struct {
	rows, k, columns int
	a, w, bias       []float32
}

func randomProduct(rows, k, columns int, seed uint64) product {
	return product{rows, k, columns, random(rows*(k+3), seed), random(k*columns, seed+1), random(columns, seed+2)}
}

// rounded returns the integers of values and their factor.
func rounded(values []float32) ([]int, float64) {
	greatest := float32(1e-30)
	for _, x := range values {
		greatest = max(greatest, max(x, -x))
	}
	out := make([]int, len(values))
	for i, x := range values {
		out[i] = int(math.RoundToEven(float64(x * (127 / greatest))))
	}
	return out, float64(greatest / 127)
}

// reference returns the rows of the result.
func (p product) reference() [][]float64 {
	out := make([][]float64, p.rows)
	for r := range out {
		a, scale := rounded(p.a[r*(p.k+3):][:p.k])
		out[r] = make([]float64, p.columns)
		for c := range out[r] {
			w, factor := rounded(p.w[c*p.k:][:p.k])
			sum := 0
			for i := range a {
				sum += a[i] * w[i]
			}
			out[r][c] = float64(sum)*scale*factor + float64(p.bias[c])
		}
	}
	return out
}

// check compares the result of an engine with the reference.
func (p product) check(t *testing.T, engine Engine) {
	t.Helper()
	var rows Int8Rows
	engine.Round(&rows, random(40*70, 9), 70, 40, 70) // leaves values that must be overwritten
	engine.Round(&rows, p.a, p.k+3, p.rows, p.k)
	ldc := Stride(p.columns) + 5
	c := make([]float32, p.rows*ldc)
	for i := range c {
		c[i] = 77
	}
	engine.MultiplyInt8(c, ldc, &rows, engine.PackInt8(p.w, p.columns, p.k, p.bias))
	for r, want := range p.reference() {
		near(t, c[r*ldc:], want, 1e-6)
		for _, x := range c[r*ldc+Stride(p.columns) : (r+1)*ldc] {
			if x != 77 {
				t.Fatal("a value after the last panel was overwritten")
			}
		}
	}
}

func TestEveryEngineMultipliesIntegersOfAnyShape(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		if !engine.HasInt8() {
			continue
		}
		for _, shape := range [][3]int{{1, 1, 1}, {2, 3, 5}, {3, 32, 32}, {5, 33, 31}, {7, 64, 33}, {12, 100, 64}, {13, 4, 96}, {31, 37, 70}, {64, 128, 40}, {29, 1536, 384}} {
			t.Run(fmt.Sprint(engine, shape), func(t *testing.T) {
				t.Parallel()
				randomProduct(shape[0], shape[1], shape[2], 1).check(t, engine)
			})
		}
	}
}

// Sums of the greatest integers do not overflow or saturate.
func TestEveryEngineMultipliesTheGreatestIntegers(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		if !engine.HasInt8() {
			continue
		}
		for _, sign := range []float32{1, -1} {
			p := randomProduct(14, 4096, 33, 1)
			for i := range p.a {
				p.a[i] = 3
			}
			for i := range p.w {
				p.w[i] = 2 * sign
			}
			p.check(t, engine)
		}
	}
}

func TestRowsAndColumnsOfZerosGiveTheBias(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		if engine.HasInt8() {
			p := randomProduct(3, 48, 40, 1)
			clear(p.a)
			p.check(t, engine)
			p = randomProduct(3, 48, 40, 1)
			clear(p.w)
			p.check(t, engine)
		}
	}
}

func FuzzProductsOfIntegers(f *testing.F) {
	f.Add(uint8(12), uint16(384), uint8(33), uint64(1))
	f.Add(uint8(1), uint16(1), uint8(1), uint64(2))
	f.Fuzz(func(t *testing.T, rows uint8, k uint16, columns uint8, seed uint64) {
		p := randomProduct(int(rows%40)+1, int(k%700)+1, int(columns%100)+1, seed)
		for _, engine := range Engines() {
			if engine.HasInt8() {
				p.check(t, engine)
			}
		}
	})
}

func BenchmarkMultiplyInt8(b *testing.B) {
	for _, engine := range Engines() {
		if !engine.HasInt8() {
			continue
		}
		for _, rows := range []int{12, 250} {
			b.Run(fmt.Sprintf("%s/rows=%d", engine, rows), func(b *testing.B) {
				w := engine.PackInt8(random(384*1536, 1), 1536, 384, nil)
				a, c := random(rows*384, 2), make([]float32, rows*1536)
				var r Int8Rows
				for b.Loop() {
					engine.Round(&r, a, 384, rows, 384)
					engine.MultiplyInt8(c, 1536, &r, w)
				}
				b.ReportMetric(2*384*1536*float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
			})
		}
	}
}
