package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
)

// usageError is an error in the command line. It exits with exitUsage.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exclusive returns an error about the command line if more than one of the flags is given.
func exclusive(flags *pflag.FlagSet, names ...string) error {
	given := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !flags.Changed(name) })
	if len(given) < 2 {
		return nil
	}
	return usagef("--%s and --%s exclude each other", given[0], given[1])
}

// report prints an error as one line on stderr and returns the exit code. Doctor's own exit
// codes tell what it found, so that every other error of it has a further one.
func (p *program) report(cmd *cobra.Command, err error) int {
	code := p.printError(cmd, err)
	if own := (doctorError{}); cmd.Name() == doctorName && code != exitInterrupted && !errors.As(err, &own) {
		return exitNotDiagnosed
	}
	return code
}

func (p *program) printError(cmd *cobra.Command, err error) int {
	var usage usageError
	var own doctorError
	switch {
	case errors.As(err, &own):
		fmt.Fprintf(p.out.Stderr, "ragd: %s\n", output.OneLine(p.describe(own.error)))
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
	if p.client == nil {
		return message
	}
	return p.explain(err, wire, message)
}

// explain returns the message of a failed call with what the user of a command can do.
func (p *program) explain(err error, wire *connect.Error, message string) string {
	c := p.client
	answered := connect.IsWireError(err)
	switch {
	case !answered && (wire.Code() == connect.CodeUnavailable || wire.Code() == connect.CodeDeadlineExceeded):
		return fmt.Sprintf("no answer from %s: %s", c.server, unreachable(message))
	case !answered && wire.Code() != connect.CodeCanceled:
		return fmt.Sprintf("what answers at %s is not ragd: %s; check the address, also http:// or https://, in --server or RAGD_SERVER", c.server, message)
	case wire.Code() == connect.CodeUnauthenticated && c.access.key == "":
		return p.noKey()
	case wire.Code() == connect.CodeUnauthenticated:
		return fmt.Sprintf("%s refused the key from %s: %s; %s", c.server, c.access.source, p.whoseKey(c), c.access.remedy())
	case wire.Code() == connect.CodePermissionDenied:
		return fmt.Sprintf("%s (the key from %s)", message, c.access.source)
	case wire.Code() == connect.CodeUnimplemented:
		return fmt.Sprintf("%s; the service at %s may be older than this ragd: `ragd doctor` shows the versions", message, c.server)
	}
	return message
}

// unreachable returns the cause of a failed connection and what to do about it.
func unreachable(cause string) string {
	switch {
	case strings.Contains(cause, "HTTP response to HTTPS client"), strings.Contains(cause, "does not look like a TLS handshake"):
		return "the server there does not speak TLS: write http:// instead of https:// in --server or RAGD_SERVER"
	case strings.Contains(cause, "certificate"):
		return cause + "; a certificate of an own authority must be among those that this machine trusts (SSL_CERT_FILE)"
	case strings.Contains(cause, "deadline exceeded"), strings.Contains(cause, "timeout"):
		return "it did not answer in time; check --server or RAGD_SERVER, and `ragd serve` there"
	case strings.Contains(cause, "no such host"):
		return "the host name is not known; check --server or RAGD_SERVER"
	}
	return cause + "; is `ragd serve` running there? --server or RAGD_SERVER names another address"
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
