package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packRow writes a kernel that rounds a row to signed bytes, and writes each four of them a panel of
// groups apart: a column of the right-hand side.
func packRow() {
	TEXT("packRowVNNI", NOSPLIT, "func(to *int8, x *float32, n uintptr) (factor float32, sum int32)")
	Pragma("noescape")
	Doc("packRowVNNI packs n values, a multiple of 16, as a column, and returns their factor and the sum of the integers.")
	to := Load(Param("to"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	inverse, factor := greatestOf(x, n)
	wide, ones, sums := ZMM(), XMM(), XMM()
	VBROADCASTSS(inverse.AsX(), wide)
	VPBROADCASTD(bits(0x01010101), ones)
	VPXOR(sums, sums, sums)
	Label("round")
	v, narrow := ZMM(), XMM()
	VMULPS(Mem{Base: x}, wide, v)
	VCVTPS2DQ(v, v)
	VPMOVDB(v, narrow)
	dotProducts(narrow, ones, sums)
	for i := range 4 {
		VPEXTRD(Imm(uint64(i)), narrow, Mem{Base: to, Disp: 4 * panel * i})
	}
	ADDQ(U32(4*4*panel), to)
	ADDQ(Imm(64), x)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("round"))
	other := XMM()
	VPSHUFD(Imm(0x4e), sums, other)
	VPADDD(other, sums, sums)
	VPSHUFD(Imm(0xb1), sums, other)
	VPADDD(other, sums, sums)
	sum := GP32()
	VMOVD(sums, sum)
	Store(factor.AsX(), ReturnIndex(0))
	Store(sum, ReturnIndex(1))
	VZEROUPPER()
	RET()
}

// packColumns writes a kernel that rounds 16 columns, and writes four rows of each together.
func packColumns() {
	TEXT("packColumnsVNNI", NOSPLIT, "func(to *int8, x *float32, stride uintptr, groups uintptr, inverse *float32)")
	Pragma("noescape")
	Doc("packColumnsVNNI packs groups of four rows of 16 columns. stride is in bytes.")
	to := Load(Param("to"), GP64())
	x := Load(Param("x"), GP64())
	stride := Load(Param("stride"), GP64())
	groups := Load(Param("groups"), GP64())
	inverses := Load(Param("inverse"), GP64())
	inverse, mask := ZMM(), ZMM()
	VMOVUPS(Mem{Base: inverses}, inverse)
	VPBROADCASTD(bits(0xff), mask)
	Label("group")
	all := ZMM()
	for row := range 4 {
		v := all
		if row > 0 {
			v = ZMM()
		}
		VMULPS(Mem{Base: x}, inverse, v)
		VCVTPS2DQ(v, v)
		if row < 3 {
			VPANDD(mask, v, v)
		}
		if row > 0 {
			VPSLLD(Imm(uint64(8*row)), v, v)
			VPORD(v, all, all)
		}
		ADDQ(stride, x)
	}
	VMOVDQU32(all, Mem{Base: to})
	ADDQ(U32(4*panel), to)
	DECQ(groups)
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// greatestColumns writes a kernel that finds the greatest magnitudes of 16 columns.
func greatestColumns() {
	TEXT("greatestColumnsAVX512", NOSPLIT, "func(to *float32, x *float32, stride uintptr, rows uintptr)")
	Pragma("noescape")
	Doc("greatestColumnsAVX512 writes the greatest magnitudes of 16 columns, at least those in to. stride is in bytes.")
	to := Load(Param("to"), GP64())
	x := Load(Param("x"), GP64())
	stride := Load(Param("stride"), GP64())
	rows := Load(Param("rows"), GP64())
	greatest, mask := ZMM(), ZMM()
	VMOVUPS(Mem{Base: to}, greatest)
	VPBROADCASTD(bits(0x7fffffff), mask)
	Label("row")
	v := ZMM()
	VPANDD(Mem{Base: x}, mask, v)
	VMAXPS(v, greatest, greatest)
	ADDQ(stride, x)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VMOVUPS(greatest, Mem{Base: to})
	VZEROUPPER()
	RET()
}

// roughExp returns e^x for x <= 0 with a relative error below 0.0002, a twentieth of a level.
func roughExp(x reg.VecVirtual) reg.VecVirtual {
	n := YMM()
	VMAXPS(broadcast(-87), x, x)
	VMULPS(broadcast(math.Log2E), x, n)
	VROUNDPS(Imm(0), n, n)
	VFNMADD231PS(broadcast(math.Ln2), n, x)
	sum := polynomial(x, 0.16767012, 0.50502228, 0.99998493, 0.99992456)
	VCVTPS2DQ(n, n)
	VPSLLD(Imm(23), n, n)
	VPADDD(n, sum, sum)
	return sum
}

// softmaxBytes writes the kernel of a softmax whose results are integers up to 255 of a common factor.
func softmaxBytes() {
	TEXT("softmaxVNNI", NOSPLIT, "func(to *byte, x *float32, n uintptr, scale float32) float32")
	Pragma("noescape")
	Doc("softmaxVNNI writes the softmax of n scaled values, a multiple of 8, as bytes and returns their factor.")
	to := Load(Param("to"), GP64())
	start := Load(Param("x"), GP64())
	size := Load(Param("n"), GP64())
	scale, greatest, total, levels := YMM(), YMM(), YMM(), broadcast(255)
	broadcastParam("scale", scale)
	at, n := GP64(), GP64()
	MOVQ(start, at)
	MOVQ(size, n)
	VBROADCASTSS(constant(-3.4e38), greatest)
	Label("greatest")
	VMAXPS(Mem{Base: at}, greatest, greatest)
	ADDQ(Imm(32), at)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("greatest"))
	fold(greatest, func(a, b, c Op) { VMAXPS(a, b, c) })
	VPXOR(total, total, total)
	Label("exp")
	x, narrow := YMM(), XMM()
	VMOVUPS(Mem{Base: start}, x)
	VSUBPS(greatest, x, x)
	VMULPS(scale, x, x)
	e := roughExp(x)
	VMULPS(levels, e, e)
	VCVTPS2DQ(e, e)
	VPADDD(e, total, total)
	VPMOVDB(e, narrow)
	VMOVQ(narrow, Mem{Base: to})
	ADDQ(Imm(32), start)
	ADDQ(Imm(8), to)
	SUBQ(Imm(8), size)
	JNZ(LabelRef("exp"))
	VCVTDQ2PS(total, total)
	fold(total, add)
	inverse := broadcast(1)
	VDIVPS(total, inverse, inverse)
	Store(inverse.AsX(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}
