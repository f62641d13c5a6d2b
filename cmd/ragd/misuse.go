package main

import "fmt"

// usageError is an error in the command line. It exits with exitUsage.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
