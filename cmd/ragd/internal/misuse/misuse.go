// Package misuse tells mistakes in a command line from other errors, as they exit with another
// code and point to the help.
package misuse

import "fmt"

// Error is a mistake in the command line.
type Error struct{ error }

// Errorf returns an Error with a formatted text, which may wrap another error.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }
