package kernel

import (
	"math"
	"slices"
)

// levels is the greatest integer that a value is rounded to.
const levels = 127

// tiny is the least magnitude that a row or column is scaled to. It keeps those of zeros finite.
const tiny = 1e-30

// vector is the number of values that the kernels which round take together.
const vector = 16

// layout is how an engine wants integers: group values of a column or row are multiplied together,
// and a value of a row has unit bytes, which are unsigned with middle added.
type layout struct{ group, unit, middle int }

// HasInt8 reports whether the engine multiplies 8-bit integers faster than floats.
func (e Engine) HasInt8() bool { return e == AVX2 || e == VNNI }

func (e Engine) layout() layout {
	if e == VNNI {
		return layout{group: 4, unit: 1, middle: 128}
	}
	return layout{group: 2, unit: 2}
}

// Int8Weights is the right-hand side of a product in 8-bit integers, with a factor for each column
// (output). It belongs to the engine that packed it. Immutable.
type Int8Weights struct {
	Rows, Columns int
	groups        int  // of values of a column
	above         bool // whether rows are rounded as what their values are above least
	least         float32
	panels        []int8 // for each panel and group: the values of each column
	columns       []columns
}

// columns has the constants of the columns of a panel. The kernels know its layout.
type columns struct {
	start       [Panel]int32 // of the sums
	scale, bias [Panel]float32
}

// PackInt8 rounds and packs a linear layer as PyTorch stores it: one row of inputs values for each
// output. bias has a value for each output, or is nil. The engine must have HasInt8.
func (e Engine) PackInt8(weight []float32, outputs, inputs int, bias []float32) *Int8Weights {
	return e.packInt8(weight, outputs, inputs, bias, nil)
}

// PackInt8Above is PackInt8 for rows whose values are at least least, which may be far above: they
// are rounded twice as finely.
func (e Engine) PackInt8Above(least float32, weight []float32, outputs, inputs int, bias []float32) *Int8Weights {
	return e.packInt8(weight, outputs, inputs, bias, &least)
}

func (e Engine) packInt8(weight []float32, outputs, inputs int, bias []float32, least *float32) *Int8Weights {
	of := e.layout()
	w := new(Int8Weights)
	w.shape(inputs, outputs, of.group)
	for c := range outputs {
		column := &w.columns[c/Panel]
		values := weight[c*inputs:][:inputs]
		factor, sum := e.packColumn(w, c, values)
		column.scale[c%Panel] = factor
		if bias != nil {
			column.bias[c%Panel] = bias[c]
		}
		if least != nil {
			w.above, w.least = true, *least
			column.bias[c%Panel] += *least * factor * float32(sum)
			continue
		}
		column.start[c%Panel] = -sum * int32(of.middle)
	}
	return w
}

// factors returns what integers are multiplied with to get the values, and the inverse of that.
func factors(values []float32) (factor, inverse float32) {
	greatest := float32(tiny)
	for _, x := range values {
		if x = float32(math.Abs(float64(x))); x > greatest {
			greatest = x
		}
	}
	return greatest / levels, levels / greatest
}

// round returns the integer nearest to x*inverse, the even one of two.
func round(x, inverse float32) int32 { return int32(math.RoundToEven(float64(x * inverse))) }

// Rounded returns the Euclidean length of what is lost when values are rounded as a row or a column.
func Rounded(values []float32) float32 {
	const unit = 3 << 22 // a float of this size has no fraction: adding it rounds, to even
	factor, inverse := factors(values)
	var sum float64
	for _, x := range values {
		scaled := float32(x * inverse)
		lost := scaled - (float32(scaled+unit) - unit)
		sum += float64(lost * lost)
	}
	return factor * float32(math.Sqrt(sum))
}

// Bytes returns the memory of the weights.
func (w *Int8Weights) Bytes() int { return len(w.panels) + 4*3*Panel*len(w.columns) }

// Int8Rows is the left-hand side of a product in 8-bit integers, with a factor for each row.
type Int8Rows struct {
	stride int // bytes
	values []byte
	scales []float32
}

// Round writes rows that are lda apart as integers, to be multiplied with w. It reuses the memory of
// r. The integers are the same with every engine.
func (e Engine) Round(r *Int8Rows, a []float32, lda, rows int, w *Int8Weights) {
	of, k := e.layout(), w.Rows
	r.stride = (k + vector - 1) / vector * vector * of.unit
	r.values, r.scales = grown(r.values, rows*r.stride), grown(r.scales, rows)
	for i := range rows {
		row, to := a[i*lda:][:k], r.values[i*r.stride:][:r.stride]
		if k%vector == 0 && k > 0 {
			r.scales[i] = e.round(to, row, w)
			continue
		}
		factor, inverse := factors(row)
		least, middle := float32(0), of.middle
		if w.above {
			most := max(slices.Max(row)-w.least, tiny)
			factor, inverse, least, middle = most/(2*levels+1), (2*levels+1)/most, w.least, 0
		}
		r.scales[i] = factor
		for j, x := range row {
			q := uint16(round(x-least, inverse) + int32(middle))
			to[j*of.unit] = byte(q)
			if of.unit > 1 {
				to[j*of.unit+1] = byte(q >> 8)
			}
		}
		clear(to[k*of.unit:])
	}
}

// MultiplyInt8 computes c = a*w + bias. The rows of c are ldc values apart, at least
// Stride(w.Columns). The sums of integers are exact, so engines differ by no more than the rounding
// of their products with the factors.
func (e Engine) MultiplyInt8(c []float32, ldc int, a *Int8Rows, w *Int8Weights) {
	rows := len(a.scales)
	if rows == 0 || w.groups == 0 {
		return
	}
	size := w.groups * e.layout().group * Panel
	_, _ = c[(rows-1)*ldc+Stride(w.Columns)-1], a.values[(rows-1)*a.stride+size/Panel*e.layout().unit-1] // the kernels check nothing
	for i := range w.columns {
		e.multiplyInt8(c[i*Panel:], ldc, a, w.panels[i*size:][:size], &w.columns[i])
	}
}
