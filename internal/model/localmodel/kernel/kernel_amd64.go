package kernel

import "golang.org/x/sys/cpu"

// Engines returns the engines that this processor can run, the fastest last.
func Engines() []Engine {
	engines := []Engine{Generic}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		engines = append(engines, AVX2)
		if cpu.X86.HasAVX512F {
			engines = append(engines, AVX512)
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
	case AVX512:
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
