// Command kernels writes the assembly of internal/model/localmodel/kernel for amd64.
//
//	make kernels
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panel is the number of columns of a packed panel, kernel.panel there.
const panel = 32

func main() {
	ConstraintExpr("amd64")
	for _, rows := range []int{12, 8, 4, 2, 1} {
		multiply(wide, rows)
	}
	for _, rows := range []int{6, 4, 2, 1} {
		multiply(narrow, rows)
	}
	for _, rows := range []int{12, 8, 4, 2, 1} {
		multiplyInt8(vnni, rows)
	}
	for _, rows := range []int{6, 4, 2, 1} {
		multiplyInt8(pairs, rows)
	}
	quantize(vnni)
	quantize(pairs)
	quantizeAbove(vnni)
	quantizeAbove(pairs)
	packRow()
	packColumns()
	greatestColumns()
	softmaxBytes()
	gelu()
	softmax()
	addNorm()
	Generate()
}

// width is a set of vector instructions.
type width struct {
	name    string
	columns int // of one kernel
	lanes   int
	vector  func() reg.VecVirtual
}

// tile returns registers for the sums of rows, each loaded with the starts of the columns, and others for a row of the
// columns.
func (w width) tile(starts reg.Register, rows int) (sums [][]reg.VecVirtual, columns []reg.VecVirtual) {
	sums = make([][]reg.VecVirtual, rows)
	for r := range sums {
		for v := range w.columns / w.lanes {
			sum := w.vector()
			sums[r] = append(sums[r], sum)
			VMOVUPS(Mem{Base: starts, Disp: 4 * w.lanes * v}, sum)
		}
	}
	for range w.columns / w.lanes {
		columns = append(columns, w.vector())
	}
	return sums, columns
}

var (
	wide   = width{"AVX512", 32, 16, ZMM}
	narrow = width{"AVX2", 16, 8, YMM}
)

// multiply writes a kernel that computes a block of c = a*b + bias. It keeps the block in
// registers while it walks along k.
func multiply(w width, rows int) {
	name := fmt.Sprintf("multiply%s_%d", w.name, rows)
	TEXT(name, NOSPLIT, "func(a *float32, lda uintptr, b *float32, k uintptr, bias *float32, c *float32, ldc uintptr)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s computes %d rows of %d columns. The strides are in bytes.", name, rows, w.columns))
	a := Load(Param("a"), GP64())
	lda := Load(Param("lda"), GP64())
	b := Load(Param("b"), GP64())
	k := Load(Param("k"), GP64())
	bias := Load(Param("bias"), GP64())
	vectors := w.columns / w.lanes

	bases := rowBases(a, lda, rows)
	sums, columns := w.tile(bias, rows)
	step := func(at int) {
		for v := range vectors {
			VMOVUPS(Mem{Base: b, Disp: 4*panel*at + 4*w.lanes*v}, columns[v])
		}
		for r := range rows {
			x := w.vector()
			VBROADCASTSS(rowAddress(bases, lda, r, 4*at), x)
			for v := range vectors {
				VFMADD231PS(x, columns[v], sums[r][v])
			}
		}
	}
	const unroll = 4
	unrolled(k, unroll, step, func(n int) {
		ADDQ(U32(uint32(4*panel*n)), b)
		for _, base := range bases {
			ADDQ(Imm(uint64(4*n)), base)
		}
	})
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	for r := range rows {
		for v := range vectors {
			VMOVUPS(sums[r][v], Mem{Base: c, Disp: 4 * w.lanes * v})
		}
		ADDQ(ldc, c)
	}
	VZEROUPPER()
	RET()
}

// rowBases returns a register for each three rows of a: their addresses are base, base+lda and
// base+2*lda.
func rowBases(a, lda reg.Register, rows int) []reg.Register {
	bases := []reg.Register{a}
	for r := 3; r < rows; r += 3 {
		base := GP64()
		LEAQ(Mem{Base: bases[len(bases)-1], Index: lda, Scale: 2}, base)
		ADDQ(lda, base)
		bases = append(bases, base)
	}
	return bases
}

// rowAddress returns the address of a value of a row.
func rowAddress(bases []reg.Register, lda reg.Register, row, offset int) Mem {
	address := Mem{Base: bases[row/3], Disp: offset}
	if row%3 > 0 {
		address.Index, address.Scale = lda, uint8(row%3)
	}
	return address
}

// unrolled writes a loop of n steps, at least one, and between them calls advance with the number of steps done.
func unrolled(n reg.Register, unroll int, step, advance func(int)) {
	SUBQ(Imm(uint64(unroll)), n)
	JLT(LabelRef("tail"))
	Label("loop")
	for at := range unroll {
		step(at)
	}
	advance(unroll)
	SUBQ(Imm(uint64(unroll)), n)
	JGE(LabelRef("loop"))
	Label("tail")
	ADDQ(Imm(uint64(unroll)), n)
	JZ(LabelRef("store"))
	Label("single")
	step(0)
	advance(1)
	DECQ(n)
	JNZ(LabelRef("single"))
	Label("store")
}

var constants = map[uint32]Mem{}

// constant returns a read-only float32.
func constant(x float32) Mem { return bits(math.Float32bits(x)) }

// bits returns a read-only word.
func bits(x uint32) Mem {
	if at, ok := constants[x]; ok {
		return at
	}
	at := GLOBL(fmt.Sprintf("word_%08x", x), RODATA|NOPTR)
	DATA(0, U32(x))
	constants[x] = at
	return at
}

func broadcast(x float32) reg.VecVirtual {
	v := YMM()
	VBROADCASTSS(constant(x), v)
	return v
}

// broadcastParam loads a parameter into all lanes.
func broadcastParam(name string, v reg.VecVirtual) {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(p.Addr, v)
}

// polynomial evaluates a polynomial of x by Horner's rule, from the highest coefficient.
func polynomial(x reg.VecVirtual, coefficients ...float32) reg.VecVirtual {
	sum := broadcast(coefficients[0])
	for _, c := range coefficients[1:] {
		next := broadcast(c)
		VFMADD231PS(x, sum, next)
		sum = next
	}
	return sum
}

// gelu writes x * (1 + erf(x/sqrt(2))) / 2. erf is the rational approximation of Eigen's
// generic_fast_erf_float, which is exact to some units in the last digit.
func gelu() {
	TEXT("geluAVX2", NOSPLIT, "func(x *float32, n uintptr)")
	Pragma("noescape")
	Doc("geluAVX2 applies GELU to n values, a multiple of 8.")
	at := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	Label("loop")
	x, u, square := YMM(), YMM(), YMM()
	VMOVUPS(Mem{Base: at}, x)
	VMULPS(broadcast(float32(math.Sqrt2/2)), x, u)
	VMINPS(broadcast(4), u, u)
	VMAXPS(broadcast(-4), u, u)
	VMULPS(u, u, square)
	p := polynomial(square, -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06,
		-5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02)
	q := polynomial(square, -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
		-7.37332916720468e-03, -1.42647390514189e-02)
	VMULPS(u, p, p)
	VDIVPS(q, p, p)
	half := YMM()
	VMULPS(broadcast(0.5), x, half)
	VFMADD213PS(half, half, p) // p*half + half
	VMOVUPS(p, Mem{Base: at})
	ADDQ(Imm(32), at)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// exp returns e^x for x <= 0, by the method of the Cephes library's expf. Results below
// e^-87 are e^-87.
func exp(x reg.VecVirtual) reg.VecVirtual {
	n := YMM()
	VMAXPS(broadcast(-87), x, x)
	VMULPS(broadcast(math.Log2E), x, n)
	VROUNDPS(Imm(0), n, n)
	VFNMADD231PS(broadcast(0.693359375), n, x)
	VFNMADD231PS(broadcast(-2.12194440e-4), n, x)
	sum := polynomial(x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := YMM()
	VMULPS(x, x, square)
	VFMADD213PS(x, square, sum)
	VADDPS(broadcast(1), sum, sum)
	VCVTPS2DQ(n, n)
	VPSLLD(Imm(23), n, n)
	VPADDD(n, sum, sum)
	return sum
}

// fold reduces a vector to one value in all lanes.
func fold(v reg.VecVirtual, op func(a, b, c Op)) {
	other := YMM()
	VPERM2F128(Imm(1), v, v, other)
	op(other, v, v)
	VPERMILPS(Imm(0x4e), v, other)
	op(other, v, v)
	VPERMILPS(Imm(0xb1), v, other)
	op(other, v, v)
}

func add(a, b, c Op) { VADDPS(a, b, c) }

func softmax() {
	TEXT("softmaxAVX2", NOSPLIT, "func(x *float32, n uintptr, scale float32)")
	Pragma("noescape")
	Doc("softmaxAVX2 applies softmax to n scaled values, a multiple of 8.")
	start := Load(Param("x"), GP64())
	size := Load(Param("n"), GP64())
	scale, greatest, total := YMM(), YMM(), YMM()
	broadcastParam("scale", scale)
	at, n := GP64(), GP64()
	again := func(label string, body func()) {
		MOVQ(start, at)
		MOVQ(size, n)
		Label(label)
		body()
		ADDQ(Imm(32), at)
		SUBQ(Imm(8), n)
		JNZ(LabelRef(label))
	}
	VBROADCASTSS(constant(-math.MaxFloat32), greatest)
	again("greatest", func() {
		x := YMM()
		VMULPS(Mem{Base: at}, scale, x)
		VMOVUPS(x, Mem{Base: at})
		VMAXPS(x, greatest, greatest)
	})
	fold(greatest, func(a, b, c Op) { VMAXPS(a, b, c) })
	VXORPS(total, total, total)
	again("exp", func() {
		x := YMM()
		VMOVUPS(Mem{Base: at}, x)
		VSUBPS(greatest, x, x)
		e := exp(x)
		VMOVUPS(e, Mem{Base: at})
		VADDPS(e, total, total)
	})
	fold(total, add)
	inverse := broadcast(1)
	VDIVPS(total, inverse, inverse)
	again("divide", func() {
		x := YMM()
		VMULPS(Mem{Base: at}, inverse, x)
		VMOVUPS(x, Mem{Base: at})
	})
	VZEROUPPER()
	RET()
}

func addNorm() {
	TEXT("addNormAVX2", NOSPLIT, "func(x *float32, residual *float32, weight *float32, bias *float32, n uintptr, inverse float32, epsilon float32)")
	Pragma("noescape")
	Doc("addNormAVX2 adds residual to n values, a multiple of 8, and normalises the sums. inverse is 1/n.")
	x := Load(Param("x"), GP64())
	residual := Load(Param("residual"), GP64())
	size := Load(Param("n"), GP64())
	weight := Load(Param("weight"), GP64())
	bias := Load(Param("bias"), GP64())
	inverse, epsilon := YMM(), YMM()
	broadcastParam("inverse", inverse)
	broadcastParam("epsilon", epsilon)
	at := GP64()
	SHLQ(Imm(2), size) // in bytes
	again := func(label string, body func()) {
		XORQ(at, at)
		Label(label)
		body()
		ADDQ(Imm(32), at)
		CMPQ(at, size)
		JNE(LabelRef(label))
	}
	mean, variance := YMM(), YMM()
	VXORPS(mean, mean, mean)
	again("sum", func() {
		v := YMM()
		VMOVUPS(Mem{Base: x, Index: at, Scale: 1}, v)
		VADDPS(Mem{Base: residual, Index: at, Scale: 1}, v, v)
		VMOVUPS(v, Mem{Base: x, Index: at, Scale: 1})
		VADDPS(v, mean, mean)
	})
	fold(mean, add)
	VMULPS(inverse, mean, mean)
	VXORPS(variance, variance, variance)
	again("variance", func() {
		v := YMM()
		VMOVUPS(Mem{Base: x, Index: at, Scale: 1}, v)
		VSUBPS(mean, v, v)
		VFMADD231PS(v, v, variance)
	})
	fold(variance, add)
	VMULPS(inverse, variance, variance)
	VADDPS(epsilon, variance, variance)
	VSQRTPS(variance, variance)
	factor := broadcast(1)
	VDIVPS(variance, factor, factor)
	again("scale", func() {
		v, w := YMM(), YMM()
		VMOVUPS(Mem{Base: x, Index: at, Scale: 1}, v)
		VSUBPS(mean, v, v)
		VMULPS(factor, v, v)
		VMOVUPS(Mem{Base: weight, Index: at, Scale: 1}, w)
		VFMADD213PS(Mem{Base: bias, Index: at, Scale: 1}, w, v)
		VMOVUPS(v, Mem{Base: x, Index: at, Scale: 1})
	})
	VZEROUPPER()
	RET()
}
