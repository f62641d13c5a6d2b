package kernel

import "math"

// levels is the greatest integer that a value is rounded to.
const levels = 127

// tiny is the least magnitude that a row or column is scaled to. It keeps those of zeros finite.
const tiny = 1e-30

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
	groups        int    // of values of a column
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
	of := e.layout()
	groups := (inputs + of.group - 1) / of.group
	w := &Int8Weights{
		Rows: inputs, Columns: outputs, groups: groups,
		panels: make([]int8, groups*of.group*Stride(outputs)), columns: make([]columns, Stride(outputs)/Panel),
	}
	for c := range outputs {
		column := &w.columns[c/Panel]
		values := weight[c*inputs:][:inputs]
		factor, inverse := factors(values)
		column.scale[c%Panel] = factor
		if bias != nil {
			column.bias[c%Panel] = bias[c]
		}
		panel, sum := w.panels[c/Panel*Panel*groups*of.group:], int32(0)
		for k, x := range values {
			q := round(x, inverse)
			sum += q
			panel[(k/of.group*Panel+c%Panel)*of.group+k%of.group] = int8(q)
		}
		column.start[c%Panel] = -sum * int32(of.middle)
	}
	return w
}

// factors returns what integers are multiplied with to get the values, and the inverse of that.
func factors(values []float32) (factor, inverse float32) {
	greatest := float32(tiny)
	for _, x := range values {
		greatest = max(greatest, float32(math.Abs(float64(x))))
	}
	return greatest / levels, levels / greatest
}

// round returns the integer nearest to x*inverse, the even one of two.
func round(x, inverse float32) int32 { return int32(math.RoundToEven(float64(x * inverse))) }

// Bytes returns the memory of the weights.
func (w *Int8Weights) Bytes() int { return len(w.panels) + 4*3*Panel*len(w.columns) }

// Int8Rows is the left-hand side of a product in 8-bit integers, with a factor for each row.
type Int8Rows struct {
	stride int // bytes
	values []byte
	scales []float32
}

// Round writes rows of k values that are lda apart as integers. It reuses the memory of r. The
// integers are the same with every engine.
func (e Engine) Round(r *Int8Rows, a []float32, lda, rows, k int) {
	const vector = 16
	of := e.layout()
	r.stride = (k + vector - 1) / vector * vector * of.unit
	if cap(r.values) < rows*r.stride {
		r.values = make([]byte, rows*r.stride)
	}
	if cap(r.scales) < rows {
		r.scales = make([]float32, rows)
	}
	r.values, r.scales = r.values[:rows*r.stride], r.scales[:rows]
	for i := range rows {
		row, to := a[i*lda:][:k], r.values[i*r.stride:][:r.stride]
		if k%vector == 0 && k > 0 {
			r.scales[i] = e.round(to, row)
			continue
		}
		factor, inverse := factors(row)
		r.scales[i] = factor
		for j, x := range row {
			q := uint16(round(x, inverse) + int32(of.middle)) //nolint:gosec // two's complement
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
