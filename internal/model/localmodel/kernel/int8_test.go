package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// product is a product of matrices in 8-bit integers, in plain Go.
type product struct {
	rows, k, columns int
	a, w, bias       []float32
	above            bool // whether rows are rounded above the least value
}

// least is that of the rows of products that are above one.
const least = -0.17

func randomProduct(rows, k, columns int, seed uint64) product {
	return product{rows, k, columns, random(rows*(k+3), seed), random(k*columns, seed+1), random(columns, seed+2), false}
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

// positive returns the product with rows above the least value.
func (p product) positive() product {
	p.a, p.above = slices.Clone(p.a), true
	for i, x := range p.a {
		p.a[i] = max(x, least)
	}
	return p
}

// reference returns the rows of the result.
func (p product) reference() [][]float64 {
	out := make([][]float64, p.rows)
	for r := range out {
		row := p.a[r*(p.k+3):][:p.k]
		a, scale := rounded(row)
		shift := 0.0
		if p.above {
			greatest := max(slices.Max(row)-float32(least), 1e-30)
			for i, x := range row {
				a[i] = int(math.RoundToEven(float64((x - float32(least)) * (255 / greatest))))
			}
			scale, shift = float64(greatest/255), float64(float32(least))
		}
		out[r] = make([]float64, p.columns)
		for c := range out[r] {
			w, factor := rounded(p.w[c*p.k:][:p.k])
			sum, all := 0, 0
			for i := range a {
				sum, all = sum+a[i]*w[i], all+w[i]
			}
			out[r][c] = float64(sum)*scale*factor + shift*factor*float64(all) + float64(p.bias[c])
		}
	}
	return out
}

// check compares the result of an engine with the reference.
func (p product) check(t *testing.T, engine Engine) {
	t.Helper()
	var rows Int8Rows
	engine.Round(&rows, random(40*70, 9), 70, 40, &Int8Weights{Rows: 70}) // leaves values that must be overwritten
	w := engine.PackInt8(p.w, p.columns, p.k, p.bias)
	if p.above {
		w = engine.PackInt8Above(least, p.w, p.columns, p.k, p.bias)
	}
	engine.Round(&rows, p.a, p.k+3, p.rows, w)
	ldc := Stride(p.columns) + 5
	c := make([]float32, p.rows*ldc)
	for i := range c {
		c[i] = 77
	}
	engine.MultiplyInt8(c, ldc, &rows, w)
	for r, want := range p.reference() {
		near(t, c[r*ldc:], want, 5e-6) // far below the step of an integer
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
				p := randomProduct(shape[0], shape[1], shape[2], 1)
				p.check(t, engine)
				p.positive().check(t, engine)
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
			p.positive().check(t, engine)
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
				p.positive().check(t, engine)
			}
		}
	})
}

// Keys and values that are packed for an attention are as weights that are packed once.
func TestMatricesOfAnAttentionArePackedAsWeights(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		if !engine.HasInt8Attention() {
			continue
		}
		var keys, values Int8Weights
		for _, shape := range [][2]int{{70, 64}, {170, 32}, {1, 8}, {33, 16}, {5, 48}, {35, 20}, {31, 100}} {
			n, size := shape[0], shape[1]
			stride := size + 3
			matrix, transpose := random(n*stride, 1), make([]float32, n*size)
			compact := make([]float32, 0, n*size)
			for r := range n {
				compact = append(compact, matrix[r*stride:][:size]...)
				for c := range size {
					transpose[c*n+r] = matrix[r*stride+c]
				}
			}
			var rows Int8Rows
			engine.TransposeInt8(&keys, matrix, n, size, stride)
			engine.Round(&rows, random(3*size, 2), size, 3, &keys)
			got, want := make([]float32, 3*Stride(n)), make([]float32, 3*Stride(n))
			engine.MultiplyInt8(got, Stride(n), &rows, &keys)
			engine.MultiplyInt8(want, Stride(n), &rows, engine.PackInt8(compact, n, size, nil))
			for i := range want {
				if i%Stride(n) < n && got[i] != want[i] {
					t.Fatalf("%v: score %d is %g, want %g", shape, i, got[i], want[i])
				}
			}
			engine.CopyInt8(&values, matrix, n, size, stride)
			packed := engine.PackInt8(transpose, size, n, nil)
			for i := range packed.panels {
				if i/packed.groups/4/Panel*Panel+i/4%Panel < size && packed.panels[i] != values.panels[i] {
					t.Fatalf("%v: value %d is %d, want %d", shape, i, values.panels[i], packed.panels[i])
				}
			}
			for c := range size {
				if got, want := values.columns[c/Panel].scale[c%Panel], packed.columns[c/Panel].scale[c%Panel]; got != want {
					t.Fatalf("%v: the factor of column %d is %g, want %g", shape, c, got, want)
				}
			}
		}
	}
}

func TestTheSoftmaxInIntegersIsThatInFloats(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		if !engine.HasInt8Attention() {
			continue
		}
		for _, n := range []int{1, 7, 8, 31, 32, 33, 250} {
			x := append(random(n, uint64(n)), make([]float32, Panel)...)[:n]
			want := append(append([]float32{}, x...), make([]float32, Panel)...)[:n]
			var rows Int8Rows
			rows.Reset(2, n)
			engine.SoftmaxInt8(&rows, 1, x, 0.25)
			engine.Softmax(want, 0.25)
			sum := 0.0
			for i, q := range rows.values[rows.stride:] {
				got := float64(q) * float64(rows.scales[1])
				sum += got
				if i >= n && q != 0 {
					t.Errorf("of %d values, padding %d has a share", n, i)
				}
				if i < n && math.Abs(got-float64(want[i])) > float64(rows.scales[1]) {
					t.Errorf("of %d values, %d is %g, want %g", n, i, got, want[i])
				}
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("the sum of %d is %g", n, sum)
			}
		}
	}
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
					engine.Round(&r, a, 384, rows, w)
					engine.MultiplyInt8(c, 1536, &r, w)
				}
				b.ReportMetric(2*384*1536*float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
			})
		}
	}
}
