package kernel

import "golang.org/x/sys/cpu"

// Engines returns the engines that this processor can run, the fastest last.
func Engines() []Engine {
	engines := []Engine{Generic}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		engines = append(engines, AVX2)
		if cpu.X86.HasAVX512F {
			engines = append(engines, AVX512)
			if cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI {
				engines = append(engines, VNNI)
			}
		}
	}
	return engines
}

// kernel computes some rows of a block.
type kernel struct {
	rows int
	run  func(a *float32, lda uintptr, b *float32, k uintptr, bias *float32, c *float32, ldc uintptr)
}

// The kernels with more rows come first: they read a panel less often.
var (
	wide   = [...]kernel{{12, multiplyAVX512_12}, {8, multiplyAVX512_8}, {4, multiplyAVX512_4}, {2, multiplyAVX512_2}, {1, multiplyAVX512_1}}
	narrow = [...]kernel{{6, multiplyAVX2_6}, {4, multiplyAVX2_4}, {2, multiplyAVX2_2}, {1, multiplyAVX2_1}}
)

func (b block) multiply(e Engine, rows int) {
	switch e {
	case AVX512, VNNI:
		b.run(wide[:], rows, Panel)
	case AVX2:
		b.run(narrow[:], rows, Panel/2)
	default:
		b.generic(0, rows)
	}
}

// run computes rows with kernels of a number of columns.
func (b block) run(kernels []kernel, rows, columns int) {
	row := 0
	for _, kernel := range kernels {
		for ; row+kernel.rows <= rows; row += kernel.rows {
			for at := 0; at < Panel; at += columns {
				kernel.run(&b.a[row*b.lda], uintptr(4*b.lda), &b.panel[at], uintptr(b.k), &b.bias[at], &b.c[row*b.ldc+at], uintptr(4*b.ldc))
			}
		}
	}
}

// lanes is the number of values that the other kernels compute together.
const lanes = 8

// gelu returns how many values it replaced.
func (e Engine) gelu(x []float32) int {
	n := len(x) / lanes * lanes
	if e == Generic || n == 0 {
		return 0
	}
	geluAVX2(&x[0], uintptr(n))
	return n
}

func (e Engine) softmax(x []float32, scale float32) bool {
	if e == Generic {
		return false
	}
	softmaxAVX2(&x[0], uintptr(len(x)), scale)
	return true
}

func (e Engine) addNorm(x, residual, weight, bias []float32, epsilon float32) bool {
	if e == Generic || len(x)%lanes != 0 {
		return false
	}
	addNormAVX2(&x[0], &residual[0], &weight[0], &bias[0], uintptr(len(x)), 1/float32(len(x)), epsilon)
	return true
}

// int8Kernel computes some rows of a product with a panel of integers.
type int8Kernel struct {
	rows int
	run  func(blocks uintptr, a *byte, lda uintptr, b *int8, groups uintptr, columns *int32, scales *float32, c *float32, ldc uintptr)
}

var (
	wideInt8   = [...]int8Kernel{{12, multiplyVNNI_12}, {8, multiplyVNNI_8}, {4, multiplyVNNI_4}, {2, multiplyVNNI_2}, {1, multiplyVNNI_1}}
	narrowInt8 = [...]int8Kernel{{6, multiplyPairs_6}, {4, multiplyPairs_4}, {2, multiplyPairs_2}, {1, multiplyPairs_1}}
)

// multiplyInt8 computes the columns of a panel.
func (e Engine) multiplyInt8(c []float32, ldc int, a *Int8Rows, panel []int8, of *columns) {
	kernels, width := narrowInt8[:], Panel/2
	if e == VNNI {
		kernels, width = wideInt8[:], Panel
	}
	group := e.layout().group
	groups := uintptr(len(panel) / group / Panel)
	row := 0
	for _, kernel := range kernels {
		blocks := (len(a.scales) - row) / kernel.rows
		if blocks == 0 {
			continue
		}
		for at := 0; at < Panel; at += width {
			kernel.run(uintptr(blocks), &a.values[row*a.stride], uintptr(a.stride), &panel[at*group], groups, &of.start[at], &a.scales[row], &c[row*ldc+at], uintptr(4*ldc))
		}
		row += blocks * kernel.rows
	}
}

// round rounds a row of a multiple of 16 values and returns its factor.
func (e Engine) round(to []byte, row []float32, w *Int8Weights) float32 {
	n := uintptr(len(row))
	switch {
	case e == VNNI && w.above:
		return quantizeAboveVNNI(&to[0], &row[0], n, w.least)
	case e == VNNI:
		return quantizeVNNI(&to[0], &row[0], n)
	case w.above:
		return quantizeAbovePairs(&to[0], &row[0], n, w.least)
	}
	return quantizePairs(&to[0], &row[0], n)
}

// packRow packs a multiple of 16 values as a column, and returns their factor and sum.
func (e Engine) packRow(to []int8, row []float32) (float32, int32) {
	return packRowVNNI(&to[0], &row[0], uintptr(len(row)))
}

// packColumns packs groups of rows of 16 columns.
func (e Engine) packColumns(to []int8, x []float32, stride, groups int, inverse *[vector]float32) {
	if groups > 0 {
		_, _ = x[(4*groups-1)*stride+vector-1], to[(groups-1)*4*Panel+4*vector-1] // the kernel checks nothing
		packColumnsVNNI(&to[0], &x[0], uintptr(4*stride), uintptr(groups), &inverse[0])
	}
}

// greatestColumns finds the greatest magnitudes of 16 columns.
func (e Engine) greatestColumns(to *[vector]float32, x []float32, stride, rows int) {
	_ = x[(rows-1)*stride+vector-1] // the kernel checks nothing
	greatestColumnsAVX512(&to[0], &x[0], uintptr(4*stride), uintptr(rows))
}

// softmaxBytes writes a softmax and returns its factor.
func (e Engine) softmaxBytes(to []byte, x []float32, scale float32) float32 {
	return softmaxVNNI(&to[0], &x[0], uintptr(len(x)), scale)
}
