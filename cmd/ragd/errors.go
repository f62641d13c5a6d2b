package main

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/operate"
)

// report prints an error as one line on stderr and returns the exit code. Doctor's own exit
// codes tell what it found, so that every other error of it has a further one.
func (p *program) report(cmd *cobra.Command, err error) int {
	code := p.printError(cmd, err)
	if own := (command.ExitError{}); cmd.Name() == operate.DoctorName && code != exitInterrupted && !errors.As(err, &own) {
		return operate.ExitNotDiagnosed
	}
	return code
}

func (p *program) printError(cmd *cobra.Command, err error) int {
	var usage misuse.Error
	var own command.ExitError
	switch {
	case errors.As(err, &own):
		fmt.Fprintf(p.Out.Stderr, "ragd: %s\n", output.OneLine(p.Describe(own.Err)))
		return own.Code
	case errors.As(err, &usage) || !p.parsed:
		fmt.Fprintf(p.Out.Stderr, "%s: %s (see `%s --help`)\n", cmd.CommandPath(), output.OneLine(err.Error()), cmd.CommandPath())
		return exitUsage
	case interrupted(err):
		fmt.Fprintf(p.Out.Stderr, "ragd: interrupted\n")
		return exitInterrupted
	}
	fmt.Fprintf(p.Out.Stderr, "ragd: %s\n", output.OneLine(p.Describe(err)))
	return exitFailed
}

func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || connect.CodeOf(err) == connect.CodeCanceled
}
