package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
)

// paramHeader is the keyword of a schema that names the header in which a client of revision
// 2026-07-28 repeats an argument.
const paramHeader = "x-mcp-header"

// checkHeaders checks the headers that repeat arguments of a call. The library cannot, because it
// does not know the tools. Errors: rpcError for a header that is missing or says something else.
func (s *protocol) checkHeaders(ctx context.Context, tool string, header http.Header, arguments json.RawMessage) error {
	if !clientIsModern(ctx) || len(header) == 0 {
		return nil
	}
	d, err := s.tools.Find(ctx, viewOf(ctx), tool)
	if err != nil || !bytes.Contains(d.InputSchema, []byte(paramHeader)) {
		return nil //nolint:nilerr // the call returns it
	}
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return invalidParams("arguments must be an object")
	}
	given := func(name string) (string, bool) {
		values := header.Values(name)
		if len(values) == 0 {
			return "", false
		}
		return values[0], true
	}
	if err := mcpgo.ValidateParamHeadersLookup(given, &mcpgo.Tool{Name: tool, RawInputSchema: d.InputSchema}, params); err != nil {
		return &rpcError{mcphttp.Failure{Code: mcpgo.HEADER_MISMATCH, Message: err.Error()}}
	}
	return nil
}
