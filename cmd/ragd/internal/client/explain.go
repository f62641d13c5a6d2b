package client

import (
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// Describe returns the message of an error. An error from the service includes the
// fields that it names, a failed call a hint about the server or the key of c, the client
// that made it, which is nil before there is one.
func Describe(c *Client, err error) string {
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
	if c == nil {
		return message
	}
	return c.explain(err, wire, message)
}

// explain returns the message of a failed call with what the user of a command can do.
func (c *Client) explain(err error, wire *connect.Error, message string) string {
	answered := connect.IsWireError(err)
	switch {
	case !answered && (wire.Code() == connect.CodeUnavailable || wire.Code() == connect.CodeDeadlineExceeded):
		return fmt.Sprintf("no answer from %s: %s", c.Server, unreachable(message))
	case !answered && wire.Code() != connect.CodeCanceled:
		return fmt.Sprintf("what answers at %s is not ragd: %s; check the address, also http:// or https://, in --server or RAGD_SERVER", c.Server, message)
	case wire.Code() == connect.CodeUnauthenticated && c.Access.Key == "":
		return c.NoKey()
	case wire.Code() == connect.CodeUnauthenticated:
		return fmt.Sprintf("%s refused the key from %s: %s; %s", c.Server, c.Access.Source, c.whoseKey(), c.Access.remedy())
	case wire.Code() == connect.CodePermissionDenied:
		return fmt.Sprintf("%s (the key from %s)", message, c.Access.Source)
	case wire.Code() == connect.CodeUnimplemented:
		return fmt.Sprintf("%s; the service at %s may be older than this ragd: `ragd doctor` shows the versions", message, c.Server)
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
