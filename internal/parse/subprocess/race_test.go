//go:build race

package subprocess

// With the race detector, whose own memory counts against a child's limit, it may
// be the detector that runs out first.
func init() { raceDetector = true }
