package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
)

// usageError is an error in the command line. It exits with exitUsage.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// report prints an error as one line on stderr and returns the exit code.
func (p *program) report(cmd *cobra.Command, err error) int {
	var usage usageError
	switch {
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

// describe returns the message of an error. An error from the service includes the
// fields that it names, a failed call a hint about the server or the key.
func (p *program) describe(err error) string {
	var wire *connect.Error
	if !errors.As(err, &wire) {
		return err.Error()
	}
	// Keep the text that was wrapped around the service's message.
	message := strings.Replace(err.Error(), wire.Error(), wire.Message(), 1)
	for _, violation := range violations(wire) {
		if !strings.Contains(message, violation.GetDescription()) || !strings.Contains(message, violation.GetField()) {
			message += fmt.Sprintf("; %s: %s", violation.GetField(), violation.GetDescription())
		}
	}
	switch {
	case p.client == nil:
	case wire.Code() == connect.CodeUnavailable && !connect.IsWireError(err):
		message = fmt.Sprintf("no answer from %s: %s; is `ragd serve` running there? --server names another", p.client.server, message)
	case wire.Code() == connect.CodeUnauthenticated && p.client.access.key == "":
		message += "; " + p.noKey()
	case wire.Code() == connect.CodeUnauthenticated:
		message += "; the key came from " + p.client.access.source + ": " + p.whoseKey(p.client)
	}
	return message
}

func violations(wire *connect.Error) []*errdetails.BadRequest_FieldViolation {
	var all []*errdetails.BadRequest_FieldViolation
	for _, detail := range wire.Details() {
		if value, err := detail.Value(); err == nil {
			if bad, ok := value.(*errdetails.BadRequest); ok {
				all = append(all, bad.GetFieldViolations()...)
			}
		}
	}
	return all
}
