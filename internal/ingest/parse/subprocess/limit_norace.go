//go:build !race

package subprocess

// detectorFactor multiplies the memory that a child may use, because that of the race detector counts too.
const detectorFactor = 1
