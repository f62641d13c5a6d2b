// Package kernel computes the inner loops of transformer models on float32 matrices: with
// AVX-512 or AVX2 instructions where the processor has them, else in plain Go. With these
// instructions, products can be computed in 8-bit integers too.
//
// Matrices are row-major. Their rows are Stride values apart, at least, because products are
// computed in panels of Panel columns.
package kernel

import "math"

// Panel is the number of columns that are computed together.
const Panel = 32

// Stride returns n rounded up to a multiple of Panel.
func Stride(n int) int { return (n + Panel - 1) / Panel * Panel }

// Engine is a set of instructions to compute with.
type Engine uint8

// The engines. Their results differ by rounding.
const (
	Generic Engine = iota // plain Go, for every processor
	AVX2                  // with FMA
	AVX512
	VNNI // AVX-512 with products of 8-bit integers
)

// String returns the name of the engine.
func (e Engine) String() string { return [...]string{"generic", "AVX2", "AVX-512", "AVX-512 VNNI"}[e] }

// Best returns the fastest engine that this processor has.
func Best() Engine {
	engines := Engines()
	return engines[len(engines)-1]
}

// Weights is the right-hand side of a product, packed into panels: Panel columns of a panel
// follow each other for each row. Immutable after packing.
type Weights struct {
	Rows, Columns int
	panels        []float32
	bias          []float32 // Stride(Columns) values
}

// Pack packs a linear layer as PyTorch stores it: one row of inputs values for each output.
// bias has a value for each output, or is nil.
func Pack(weight []float32, outputs, inputs int, bias []float32) *Weights {
	w := &Weights{bias: make([]float32, Stride(outputs))}
	copy(w.bias, bias)
	w.Transpose(weight, outputs, inputs, inputs)
	return w
}

// Transpose packs the transpose of a matrix of columns rows, stride apart, of rows values each.
// It reuses the memory of w.
func (w *Weights) Transpose(matrix []float32, columns, rows, stride int) {
	w.shape(rows, columns)
	for c := range columns {
		panel := w.panels[c/Panel*Panel*rows+c%Panel:]
		for k, x := range matrix[c*stride:][:rows] {
			panel[k*Panel] = x
		}
	}
}

// Copy packs a matrix with rows that are stride apart. It reuses the memory of w.
func (w *Weights) Copy(matrix []float32, rows, columns, stride int) {
	w.shape(rows, columns)
	for k := range rows {
		row := matrix[k*stride:][:columns]
		for c := 0; c < columns; c += Panel {
			copy(w.panels[c*rows+k*Panel:][:Panel], row[c:])
		}
	}
}

// shape makes space for a matrix. The columns that pad the last panel are zero.
func (w *Weights) shape(rows, columns int) {
	w.Rows, w.Columns = rows, columns
	size := rows * Stride(columns)
	if cap(w.panels) < size {
		w.panels = make([]float32, size)
	}
	w.panels = w.panels[:size]
	if columns%Panel != 0 {
		clear(w.panels[columns/Panel*Panel*rows:])
	}
	if len(w.bias) < Stride(columns) {
		w.bias = make([]float32, Stride(columns))
	}
}

// Bytes returns the memory of the weights.
func (w *Weights) Bytes() int { return 4 * (len(w.panels) + len(w.bias)) }

// Multiply computes rows of c = a*w + bias. The rows of a are lda values apart and those of c
// ldc, at least Stride(w.Columns).
func (e Engine) Multiply(c []float32, ldc int, a []float32, lda, rows int, w *Weights) {
	if rows == 0 || w.Rows == 0 {
		return
	}
	columns := Stride(w.Columns)
	_, _ = c[(rows-1)*ldc+columns-1], a[(rows-1)*lda+w.Rows-1] // the kernels check nothing
	for at := 0; at < columns; at += Panel {
		block{a, c[at:], w.panels[at*w.Rows:][:Panel*w.Rows], w.bias[at:][:Panel], lda, ldc, w.Rows}.multiply(e, rows)
	}
}

// block is the product of some rows with one panel.
type block struct {
	a, c, panel, bias []float32
	lda, ldc, k       int
}

// generic computes n rows from row on.
func (b block) generic(row, n int) {
	var sums [4][Panel]float32
	for r := row; r < row+n; r += len(sums) {
		count := min(len(sums), row+n-r)
		for i := range count {
			copy(sums[i][:], b.bias)
		}
		for k := range b.k {
			columns := (*[Panel]float32)(b.panel[k*Panel:])
			for i := range count {
				x, sum := b.a[(r+i)*b.lda+k], &sums[i]
				for j := range columns {
					sum[j] += x * columns[j]
				}
			}
		}
		for i := range count {
			copy(b.c[(r+i)*b.ldc:][:Panel], sums[i][:])
		}
	}
}

// GELU replaces each x by x*P(X<=x) of the normal distribution, with the exact erf.
func (e Engine) GELU(x []float32) {
	done := e.gelu(x)
	for i, v := range x[done:] {
		x[done+i] = float32(float64(v) / 2 * (1 + math.Erf(float64(v)/math.Sqrt2)))
	}
}

// Softmax replaces the values of a row by the softmax of scale*x. row must have memory for
// Stride(len(row)) values; those after its end are overwritten.
func (e Engine) Softmax(row []float32, scale float32) {
	n := len(row)
	if n == 0 {
		return
	}
	if e.softmax(pad(row), scale) {
		return
	}
	greatest := float32(-math.MaxFloat32)
	for _, x := range row {
		greatest = max(greatest, x*scale)
	}
	var sum float64
	for i, x := range row {
		v := math.Exp(float64(x*scale - greatest))
		row[i] = float32(v)
		sum += v
	}
	for i := range row {
		row[i] = float32(float64(row[i]) / sum)
	}
}

// pad returns a row with the memory after it, which it fills with values that a softmax ignores.
func pad(row []float32) []float32 {
	padded := row[:Stride(len(row))]
	for i := len(row); i < len(padded); i++ {
		padded[i] = -math.MaxFloat32 / 4
	}
	return padded
}

// AddNorm adds residual to x and normalises the sums: to mean 0 and variance 1, then by
// weight and bias (LayerNorm).
func (e Engine) AddNorm(x, residual, weight, bias []float32, epsilon float32) {
	n := len(x)
	residual, weight, bias = residual[:n], weight[:n], bias[:n]
	if n == 0 || e.addNorm(x, residual, weight, bias, epsilon) {
		return
	}
	var mean, variance float64
	for i := range x {
		x[i] += residual[i]
		mean += float64(x[i])
	}
	mean /= float64(n)
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	factor := 1 / math.Sqrt(variance/float64(n)+float64(epsilon))
	for i, v := range x {
		x[i] = float32((float64(v)-mean)*factor)*weight[i] + bias[i]
	}
}
