// Package misuse tells mistakes in a command line from other errors, as they exit with another
// code and point to the help.
package misuse

import "fmt"

// Error is an error in the command line. It exits with exitUsage.
type Error struct{ error }

func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }
