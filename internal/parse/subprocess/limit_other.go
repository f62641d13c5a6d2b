//go:build !linux

package subprocess

// limitMemory has no means here: what bounds a child's memory are the limits of the
// parsers themselves.
func limitMemory(uint64) error { return nil }
