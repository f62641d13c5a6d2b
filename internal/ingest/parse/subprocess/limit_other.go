//go:build !linux

package subprocess

// limitMemory does nothing on this system: only the limits of the parsers bound memory.
func limitMemory(uint64) error { return nil }

// lowerPriority does nothing on this system.
func lowerPriority() error { return nil }
