package kernel

// HasInt8Attention reports whether the engine computes the products of an attention faster in 8-bit
// integers than in floats, with the time to pack them.
func (e Engine) HasInt8Attention() bool { return e == VNNI }

// shape makes space for a matrix. The last group of values of a column is padded with zeros, the other
// values are not cleared.
func (w *Int8Weights) shape(rows, columns, group int) {
	w.Rows, w.Columns, w.groups = rows, columns, (rows+group-1)/group
	w.panels = grown(w.panels, w.groups*group*Stride(columns))
	w.columns = grown(w.columns, Stride(columns)/Panel)
	if rows%group != 0 {
		for at := range w.columns {
			clear(w.panels[((at+1)*w.groups-1)*group*Panel:][:group*Panel])
		}
	}
}

// grown returns a slice of n values, those of s as far as it is long enough.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// pack rounds the values of a column and writes them, stride apart in x. It returns their sum.
func (w *Int8Weights) pack(column int, x []float32, stride, group int, inverse float32) int32 {
	panel, sum := w.panels[column/Panel*Panel*w.groups*group:], int32(0)
	for k := range w.Rows {
		q := round(x[k*stride], inverse)
		sum += q
		panel[(k/group*Panel+column%Panel)*group+k%group] = int8(q)
	}
	return sum
}

// TransposeInt8 rounds and packs the transpose of a matrix of columns rows, stride apart, of rows values
// each. It reuses the memory of w. The engine must have HasInt8Attention.
func (e Engine) TransposeInt8(w *Int8Weights, matrix []float32, columns, rows, stride int) {
	of := e.layout()
	w.shape(rows, columns, of.group)
	for c := range columns {
		row, to := matrix[c*stride:][:rows], &w.columns[c/Panel]
		factor, sum := e.packColumn(w, c, row)
		to.scale[c%Panel], to.start[c%Panel], to.bias[c%Panel] = factor, -sum*int32(of.middle), 0
	}
}

// packColumn rounds the values of a column and writes them. It returns their factor and sum.
func (e Engine) packColumn(w *Int8Weights, column int, values []float32) (factor float32, sum int32) {
	group := e.layout().group
	if e == VNNI && w.Rows%vector == 0 && w.Rows > 0 {
		at := (column/Panel*Panel*w.groups + column%Panel) * group
		_ = w.panels[at+(w.groups-1)*group*Panel+group-1] // the kernel checks nothing
		return e.packRow(w.panels[at:], values[:w.Rows])
	}
	factor, inverse := factors(values)
	return factor, w.pack(column, values, 1, group, inverse)
}

// CopyInt8 rounds and packs a matrix with rows that are stride apart, for products with SoftmaxInt8. It
// reuses the memory of w. The engine must have HasInt8Attention.
func (e Engine) CopyInt8(w *Int8Weights, matrix []float32, rows, columns, stride int) {
	of := e.layout()
	w.shape(rows, columns, of.group)
	for c := 0; c < columns; c += vector {
		to, at := &w.columns[c/Panel], c%Panel
		width := min(vector, columns-c)
		var greatest, inverse [vector]float32
		if width == vector {
			e.greatestColumns(&greatest, matrix[c:], stride, rows)
		} else {
			for i := range width {
				for k := range rows {
					greatest[i] = max(greatest[i], matrix[k*stride+c+i], -matrix[k*stride+c+i])
				}
			}
		}
		for i := range width {
			most := max(greatest[i], tiny)
			to.scale[at+i], inverse[i] = most/levels, levels/most
			to.start[at+i], to.bias[at+i] = 0, 0
		}
		done := 0 // groups
		if width == vector {
			done = rows / of.group
			e.packColumns(w.panels[(c/Panel*Panel*w.groups+at)*of.group:], matrix[c:], stride, done, &inverse)
		}
		for i := range width {
			panel := w.panels[(c/Panel*Panel*w.groups+at+i)*of.group:]
			for k := done * of.group; k < rows; k++ {
				panel[k/of.group*Panel*of.group+k%of.group] = int8(round(matrix[k*stride+c+i], inverse[i]))
			}
		}
	}
}

// Reset makes space for rows of k values, which SoftmaxInt8 writes.
func (r *Int8Rows) Reset(rows, k int) {
	r.stride = Stride(k)
	r.values, r.scales = grown(r.values, rows*r.stride), grown(r.scales, rows)
}

// SoftmaxInt8 writes the softmax of scale*x as a row, in integers of 0 to 255 that add up to 1 with their
// factor. Values are as in Softmax. The engine must have HasInt8Attention.
func (e Engine) SoftmaxInt8(r *Int8Rows, row int, x []float32, scale float32) {
	padded := pad(x)
	r.scales[row] = e.softmaxBytes(r.values[row*r.stride:][:len(padded)], padded, scale)
}
