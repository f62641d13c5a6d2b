package mcp

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/ragdhq/ragd/internal/fault"
)

// metaError is the key in a result's _meta that holds the error for programs.
const metaError = "ragd/error"

// problem is the public part of an error.
type problem struct {
	kind       fault.Kind
	text       string
	violations []fault.Violation
	retryAfter time.Duration
}

func problemOf(err error) problem {
	if wired := new(connect.Error); errors.As(err, &wired) {
		return problemOfWire(wired)
	}
	p := problem{kind: fault.KindOf(err), text: fault.Public(err)}
	if f := new(fault.Error); errors.As(err, &f) && p.kind != fault.Internal {
		p.violations, p.retryAfter = f.Violations, f.RetryAfter
	}
	return p
}

// kinds maps Connect codes to kinds of fault, the inverse of the mapping in internal/rpc.
var kinds = map[connect.Code]fault.Kind{
	connect.CodeInvalidArgument:    fault.Invalid,
	connect.CodeUnauthenticated:    fault.Unauthenticated,
	connect.CodePermissionDenied:   fault.Denied,
	connect.CodeNotFound:           fault.NotFound,
	connect.CodeAlreadyExists:      fault.Exists,
	connect.CodeAborted:            fault.Conflict,
	connect.CodeFailedPrecondition: fault.Precondition,
	connect.CodeResourceExhausted:  fault.Exhausted,
	connect.CodeUnavailable:        fault.Unavailable,
	connect.CodeCanceled:           fault.Canceled,
	connect.CodeDeadlineExceeded:   fault.Deadline,
}

// problemOfWire converts an error of the API client. The text of errors that the client
// itself made, such as a refused connection, is not passed on, because it describes the
// network.
func problemOfWire(err *connect.Error) problem {
	p := problem{kind: kinds[err.Code()], text: err.Message()}
	switch answered := connect.IsWireError(err); {
	case p.kind == fault.Internal:
		p.text = fault.Public(err)
	case !answered && p.kind == fault.Unavailable:
		p.text = "the ragd server cannot be reached"
	case !answered && (p.kind == fault.Canceled || p.kind == fault.Deadline):
		p.text = fault.Public(err.Unwrap())
	case !answered:
		p.text = "the ragd server gave no proper answer"
	}
	for _, detail := range err.Details() {
		switch d, _ := detail.Value(); d := d.(type) {
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				p.violations = append(p.violations, fault.Violation{Field: v.GetField(), Reason: v.GetDescription()})
			}
		case *errdetails.RetryInfo:
			p.retryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	return p
}

// result returns the problem as a tool result, with advice on retrying for the model.
func (p problem) result(requestID string) *mcpgo.CallToolResult {
	text := strings.TrimSuffix(p.text, ".")
	switch {
	case p.kind == fault.Internal:
		text += fmt.Sprintf(" (request id %s)", requestID)
	case p.retryAfter > 0:
		text += fmt.Sprintf(". Retry after %s.", p.retryAfter.Round(time.Millisecond))
	case p.kind == fault.Conflict || p.kind == fault.Unavailable || p.kind == fault.Exhausted:
		text += ". Retry in a moment."
	}
	detail := map[string]any{"code": p.kind.String(), "requestId": requestID}
	if p.retryAfter > 0 {
		detail["retryAfterMs"] = p.retryAfter.Milliseconds()
	}
	if len(p.violations) > 0 {
		fields := make([]map[string]any, len(p.violations))
		for i, v := range p.violations {
			fields[i] = map[string]any{"field": v.Field, "reason": v.Reason}
		}
		detail["fields"] = fields
	}
	result := mcpgo.NewToolResultError(text)
	result.Meta = mcpgo.NewMetaFromMap(map[string]any{metaError: detail})
	return result
}
