//go:build !linux

package subprocess

import (
	"errors"
	"time"
)

// limitMemory does nothing on this system: only the limits of the parsers bound memory.
func limitMemory(uint64) error { return nil }

// lowerPriority does nothing on this system.
func lowerPriority() error { return nil }

// processorTime is not known on this system.
func processorTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
