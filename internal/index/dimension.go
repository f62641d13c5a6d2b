package index

import (
	"encoding/binary"
	"math/bits"
)

// TermDimension returns the dimension of a term in the column term_weights of chunk tables, from 1 to
// 2^29, as the SQL function term_dimension does. Two terms of one text rarely share a dimension; when they
// do, the heavier one counts.
func TermDimension(term string) int64 { return int64(hashText(term)&(1<<29-1)) + 1 }

// hashText returns PostgreSQL's hashtextextended(text, 0): lookup3 by Bob Jenkins, in the public domain.
func hashText(text string) uint64 {
	n := uint32(len(text))
	a := 0x9e3779b9 + n + 3923095
	b, c := a, a
	rest := []byte(text)
	for ; len(rest) >= 12; rest = rest[12:] {
		a += binary.LittleEndian.Uint32(rest)
		b += binary.LittleEndian.Uint32(rest[4:])
		c += binary.LittleEndian.Uint32(rest[8:])
		a, b, c = mix(a, b, c)
	}
	var last [12]byte
	// The lowest byte of c is kept for the length.
	copy(last[:], rest)
	a += binary.LittleEndian.Uint32(last[:])
	b += binary.LittleEndian.Uint32(last[4:])
	c += binary.LittleEndian.Uint32(last[8:]) << 8
	_, b, c = final(a, b, c)
	return uint64(b)<<32 | uint64(c)
}

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	a = a - c ^ bits.RotateLeft32(c, 4)
	c += b
	b = b - a ^ bits.RotateLeft32(a, 6)
	a += c
	c = c - b ^ bits.RotateLeft32(b, 8)
	b += a
	a = a - c ^ bits.RotateLeft32(c, 16)
	c += b
	b = b - a ^ bits.RotateLeft32(a, 19)
	a += c
	c = c - b ^ bits.RotateLeft32(b, 4)
	b += a
	return a, b, c
}

func final(a, b, c uint32) (uint32, uint32, uint32) {
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	c = (c ^ b) - bits.RotateLeft32(b, 24)
	return a, b, c
}
