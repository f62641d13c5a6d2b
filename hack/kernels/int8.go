package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// int8Width is a set of instructions that multiply integers. group values of a column follow each
// other; each of them needs unit bytes in a row of the left-hand side.
type int8Width struct {
	width
	group, unit int
	load        func(from Op, to reg.VecVirtual)
	accumulate  func(x, column, sum reg.VecVirtual, last bool)
}

var (
	vnni = int8Width{
		width: width{"VNNI", 32, 16, ZMM}, group: 4, unit: 1,
		load:       func(from Op, to reg.VecVirtual) { VMOVDQU32(from, to) },
		accumulate: func(x, column, sum reg.VecVirtual, _ bool) { dotProducts(column, x, sum) },
	}
	pairs = int8Width{
		width: width{"Pairs", 16, 8, YMM}, group: 2, unit: 2,
		load: func(from Op, to reg.VecVirtual) { VPMOVSXBW(from, to) },
		accumulate: func(x, column, sum reg.VecVirtual, last bool) {
			product := x
			if !last {
				product = YMM()
			}
			VPMADDWD(column, x, product)
			VPADDD(product, sum, sum)
		},
	}
)

// dotProducts adds the products of four unsigned values of x and signed ones of column to each sum:
// the instruction VPDPBUSD, which avo does not know.
func dotProducts(column, x, sum reg.VecVirtual) {
	Instruction(&ir.Instruction{
		Opcode: "VPDPBUSD", Operands: []Op{column, x, sum}, Inputs: []Op{column, x, sum}, Outputs: []Op{sum}, ISA: []string{"AVX512VNNI"},
	})
}

// multiplyInt8 writes a kernel that computes blocks of rows of c = scales*(start + a*b)*scale + bias, where
// the first words of columns are those of start, and those of scale and bias follow a panel later
// each.
func multiplyInt8(w int8Width, rows int) {
	name := fmt.Sprintf("multiply%s_%d", w.name, rows)
	TEXT(name, NOSPLIT, "func(blocks uintptr, a *byte, lda uintptr, b *int8, groups uintptr, columns *int32, scales *float32, c *float32, ldc uintptr)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s computes blocks of %d rows of %d columns from groups of %d values. The strides are in bytes.", name, rows, w.columns, w.group))
	start := Load(Param("a"), GP64())
	lda := Load(Param("lda"), GP64())
	columns := Load(Param("columns"), GP64())
	scales := Load(Param("scales"), GP64())
	c := Load(Param("c"), GP64())
	Label("block")
	a := GP64()
	MOVQ(start, a)
	b := Load(Param("b"), GP64())
	groups := Load(Param("groups"), GP64())
	vectors := w.columns / w.lanes
	bases := rowBases(a, lda, rows)
	sums, weights := w.tile(columns, rows)
	step := func(at int) {
		for v := range vectors {
			w.load(Mem{Base: b, Disp: w.group * (panel*at + w.lanes*v)}, weights[v])
		}
		for r := range rows {
			x := w.vector()
			VPBROADCASTD(rowAddress(bases, lda, r, w.group*w.unit*at), x)
			for v := range vectors {
				w.accumulate(x, weights[v], sums[r][v], v == vectors-1)
			}
		}
	}
	const unroll = 4
	unrolled(groups, unroll, step, func(n int) {
		ADDQ(U32(uint32(w.group*panel*n)), b)
		for _, base := range bases {
			ADDQ(Imm(uint64(w.group*w.unit*n)), base)
		}
	})
	ldc := Load(Param("ldc"), GP64())
	for v := range vectors {
		VMOVUPS(Mem{Base: columns, Disp: 4*panel + 4*w.lanes*v}, weights[v])
	}
	for r := range rows {
		x := w.vector()
		VBROADCASTSS(Mem{Base: scales, Disp: 4 * r}, x)
		for v := range vectors {
			sum := sums[r][v]
			VCVTDQ2PS(sum, sum)
			VMULPS(x, sum, sum)
			VFMADD213PS(Mem{Base: columns, Disp: 8*panel + 4*w.lanes*v}, weights[v], sum)
			VMOVUPS(sum, Mem{Base: c, Disp: 4 * w.lanes * v})
		}
		ADDQ(ldc, c)
		ADDQ(lda, start)
	}
	ADDQ(Imm(uint64(4*rows)), scales)
	blocks, err := Param("blocks").Resolve()
	if err != nil {
		panic(err)
	}
	DECQ(blocks.Addr)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// quantize writes a kernel that rounds a row to integers of -127 to 127: to bytes with 128 added for
// VNNI, else to words.
func quantize(w int8Width) {
	name := "quantize" + w.name
	TEXT(name, NOSPLIT, "func(to *byte, x *float32, n uintptr) float32")
	Pragma("noescape")
	Doc(name + " rounds n values, a multiple of 16, to integers and returns their factor.")
	to := Load(Param("to"), GP64())
	x := Load(Param("x"), GP64())
	size := Load(Param("n"), GP64())
	first, factor := greatestOf(x, size)
	inverse := w.vector()
	VBROADCASTSS(first.AsX(), inverse)
	w.round(to, x, size, inverse, nil)
	Store(factor.AsX(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// quantizeAbove writes a kernel that rounds what a row is above its least value to integers of 0 to 255.
func quantizeAbove(w int8Width) {
	name := "quantizeAbove" + w.name
	TEXT(name, NOSPLIT, "func(to *byte, x *float32, n uintptr, least float32) float32")
	Pragma("noescape")
	Doc(name + " rounds n values minus least, a multiple of 16, to integers and returns their factor.")
	to := Load(Param("to"), GP64())
	x := Load(Param("x"), GP64())
	size := Load(Param("n"), GP64())
	least := w.vector()
	broadcastParam("least", least)
	at, n := GP64(), GP64()
	MOVQ(x, at)
	MOVQ(size, n)
	greatest := YMM()
	VBROADCASTSS(constant(-1e30), greatest)
	Label("greatest")
	for half := range 2 {
		VMAXPS(Mem{Base: at, Disp: 32 * half}, greatest, greatest)
	}
	ADDQ(Imm(64), at)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("greatest"))
	fold(greatest, func(a, b, c Op) { VMAXPS(a, b, c) })
	VSUBPS(least.AsY(), greatest, greatest)
	VMAXPS(broadcast(1e-30), greatest, greatest)
	levels := broadcast(255)
	first, factor, inverse := YMM(), YMM(), w.vector()
	VDIVPS(greatest, levels, first)
	VDIVPS(levels, greatest, factor)
	VBROADCASTSS(first.AsX(), inverse)
	w.round(to, x, size, inverse, least)
	Store(factor.AsX(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// greatestOf returns the factor of n values by their greatest magnitude, and its inverse.
func greatestOf(x, size reg.Register) (inverse, factor reg.VecVirtual) {
	at, n := GP64(), GP64()
	MOVQ(x, at)
	MOVQ(size, n)
	greatest, mask := YMM(), YMM()
	VBROADCASTSS(constant(1e-30), greatest)
	VBROADCASTSS(bits(0x7fffffff), mask)
	Label("greatest")
	for half := range 2 {
		v := YMM()
		VANDPS(Mem{Base: at, Disp: 32 * half}, mask, v)
		VMAXPS(v, greatest, greatest)
	}
	ADDQ(Imm(64), at)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("greatest"))
	fold(greatest, func(a, b, c Op) { VMAXPS(a, b, c) })
	levels := broadcast(127)
	inverse, factor = YMM(), YMM()
	VDIVPS(greatest, levels, inverse)
	VDIVPS(levels, greatest, factor)
	return inverse, factor
}

// round writes the loop that multiplies values by inverse and rounds them. If least is not nil, it is
// subtracted before, and nothing is added after.
func (w int8Width) round(to, x, n reg.Register, inverse, least reg.VecVirtual) {
	middle := ZMM()
	if w.unit == 1 && least == nil {
		VPBROADCASTD(bits(128), middle)
	}
	scaled := func(at int) reg.VecVirtual {
		v := w.vector()
		if least != nil {
			VMOVUPS(Mem{Base: x, Disp: at}, v)
			VSUBPS(least, v, v)
			VMULPS(inverse, v, v)
		} else {
			VMULPS(Mem{Base: x, Disp: at}, inverse, v)
		}
		VCVTPS2DQ(v, v)
		return v
	}
	Label("round")
	if w.unit == 1 {
		narrow, v := XMM(), scaled(0)
		if least == nil {
			VPADDD(middle, v, v)
		}
		VPMOVDB(v, narrow)
		VMOVDQU(narrow, Mem{Base: to})
	} else {
		low, high := scaled(0), scaled(32)
		VPACKSSDW(high, low, low)
		VPERMQ(Imm(0xd8), low, low)
		VMOVDQU(low, Mem{Base: to})
	}
	ADDQ(Imm(uint64(16*w.unit)), to)
	ADDQ(Imm(64), x)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("round"))
}
