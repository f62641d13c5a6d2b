//go:build race

package subprocess

// detectorFactor scales the limit of a child's memory, to which the race detector's own counts.
const detectorFactor = 2
