package mcp

import (
	"errors"
	"fmt"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
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
	p := problem{kind: fault.KindOf(err), text: fault.Public(err)}
	if f := new(fault.Error); errors.As(err, &f) && p.kind != fault.Internal {
		p.violations, p.retryAfter = f.Violations, f.RetryAfter
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
