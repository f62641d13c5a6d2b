//go:build !amd64

package kernel

// Engines returns the engines that this processor can run, the fastest last.
func Engines() []Engine { return []Engine{Generic} }

func (b block) multiply(_ Engine, rows int) { b.generic(0, rows) }

func (e Engine) gelu([]float32) int { return 0 }

func (e Engine) softmax([]float32, float32) bool { return false }

func (e Engine) addNorm(_, _, _, _ []float32, _ float32) bool { return false }

// The only engine, Generic, computes no integers.
func (e Engine) multiplyInt8([]float32, int, *Int8Rows, []int8, *columns) {}

func (e Engine) round([]byte, []float32, *Int8Weights) float32 { return 0 }

func (e Engine) packRow([]int8, []float32) (float32, int32) { return 0, 0 }

func (e Engine) packColumns([]int8, []float32, int, int, *[vector]float32) {}

func (e Engine) greatestColumns(*[vector]float32, []float32, int, int) {}

func (e Engine) softmaxBytes([]byte, []float32, float32) float32 { return 0 }
