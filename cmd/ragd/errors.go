package main

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
)

// report prints an error as one line on stderr and returns the exit code. Doctor's own exit
// codes tell what it found, so that every other error of it has a further one.
func (p *program) report(cmd *cobra.Command, err error) int {
	code := p.printError(cmd, err)
	if own := (exitError{}); cmd.Name() == doctorName && code != exitInterrupted && !errors.As(err, &own) {
		return exitNotDiagnosed
	}
	return code
}

func (p *program) printError(cmd *cobra.Command, err error) int {
	var usage usageError
	var own exitError
	switch {
	case errors.As(err, &own):
		fmt.Fprintf(p.out.Stderr, "ragd: %s\n", output.OneLine(p.describe(own.err)))
		return own.code
	case errors.As(err, &usage) || !p.parsed:
		fmt.Fprintf(p.out.Stderr, "%s: %s (see `%s --help`)\n", cmd.CommandPath(), output.OneLine(err.Error()), cmd.CommandPath())
		return exitUsage
	case interrupted(err):
		fmt.Fprintf(p.out.Stderr, "ragd: interrupted\n")
		return exitInterrupted
	}
	fmt.Fprintf(p.out.Stderr, "ragd: %s\n", output.OneLine(p.describe(err)))
	return exitFailed
}

func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || connect.CodeOf(err) == connect.CodeCanceled
}
