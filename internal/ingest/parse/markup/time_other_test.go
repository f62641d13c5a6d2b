//go:build !linux

package markup

import (
	"testing"
	"time"
)

var began = time.Now()

// threadTime returns the time since the start of the tests.
func threadTime(*testing.T) time.Duration { return time.Since(began) }
