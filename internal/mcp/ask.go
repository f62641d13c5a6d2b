package mcp

import (
	"context"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/fault"
)

// indexArgument is the argument that is asked for, and the name of the question.
const indexArgument = "indexName"

// askIndex returns a question to the user, which index is meant, when a call
// failed because it named none of several and the client can ask. Otherwise it
// returns nil: the error lists the names, and the model chooses. A question is
// asked once.
func (s *toolset) askIndex(ctx context.Context, req mcpgo.CallToolRequest, p problem) *mcpgo.CallToolResult {
	if p.kind != fault.Invalid || len(p.violations) != 1 || p.violations[0].Field != indexArgument {
		return nil
	}
	named := req.GetArguments()[indexArgument]
	_, answered := server.InputResponse(req.Params.InputResponses, indexArgument)
	if named != nil && named != "" || answered || !canAsk(ctx) {
		return nil
	}
	names := s.indexes.of(ctx)
	if len(names) < 2 {
		return nil
	}
	return new(server.InputRequestBuilder).Elicit(indexArgument, mcpgo.ElicitationParams{
		Message: "There are several indexes. Which one is meant?",
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{indexArgument: map[string]any{"type": "string", "title": "Index", "enum": names}},
			"required":   []string{indexArgument},
		},
	}).ToolResult()
}

// canAsk reports whether the client said that it can ask its user to fill in a
// form.
func canAsk(ctx context.Context) bool {
	var capabilities mcpgo.ClientCapabilities
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientCapabilities != nil {
		capabilities = *info.ClientCapabilities
	} else if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		if _, ok := session.(server.SessionWithElicitation); ok {
			capabilities = session.GetClientCapabilities()
		}
	}
	e := capabilities.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil) // before there were modes, forms were meant
}

// answeredIndex returns the user's answer that came with a call, or "". It needs no
// more trust than an argument: the service checks the name and the rights.
func answeredIndex(req mcpgo.CallToolRequest) string {
	answer := server.ElicitationResponse(req.Params.InputResponses, indexArgument)
	if answer == nil || answer.Action != mcpgo.ElicitationResponseActionAccept {
		return ""
	}
	content, _ := answer.Content.(map[string]any)
	name, _ := content[indexArgument].(string)
	return name
}
