package parse

import (
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Errors of files that cannot be read. Each names the format and what to do.

// broken returns the error for a file that is damaged. The cause goes to the log.
func broken(f Format, cause error) error {
	err := fault.Field("content", "is a broken %s file: open it in the program that made it and save it again", f.Name())
	err.Cause = cause
	return err
}

// encrypted returns the error for a file that needs a password.
func encrypted(f Format) error {
	return fault.Field("content", "is an encrypted %s file: remove its password and upload it again", f.Name())
}

// tooLarge returns the error for a file that exceeds a limit when it is read.
func tooLarge(f Format, format string, args ...any) error {
	return fault.Field("content", "is %s file that is too large inside: "+format+"; split it", append([]any{f.aName()}, args...)...)
}

// noText returns the error for a file without text.
func noText(f Format, skipped []string) error {
	switch {
	case len(skipped) > 0:
		return fault.Field("content", "is %s file of which nothing could be read: %s", f.aName(), textlimit.OneLine(strings.Join(skipped[:min(len(skipped), 3)], "; "), maxProperty))
	case f == PDF:
		return fault.Field("content", "is a PDF file without a text layer: run character recognition over it and upload the result")
	}
	return fault.Field("content", "is %s file without text: there is nothing to search in it", f.aName())
}

// unsupported returns the error for a known format that cannot be read.
func unsupported(what, remedy string) error {
	return fault.Field("content", "is %s, which cannot be read: %s", what, remedy)
}
