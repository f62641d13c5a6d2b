package mcp

import (
	"context"
	"encoding/json"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/fault"
)

// indexArgument is the argument that a user may be asked for, and the key of the
// question.
const indexArgument = "indexName"

// elicitIndex returns a question to the user which index is meant, if a call failed
// because it named none of several and the client supports elicitation. Otherwise it
// returns nil: the error lists the names, and the model chooses. A call asks at most
// once.
func (s *toolset) elicitIndex(ctx context.Context, req mcpgo.CallToolRequest, p problem) *mcpgo.CallToolResult {
	if p.kind != fault.Invalid || len(p.violations) != 1 || p.violations[0].Field != indexArgument {
		return nil
	}
	named := namedIndex(sentArguments(ctx, req))
	_, answered := server.InputResponse(req.Params.InputResponses, indexArgument)
	if named || answered || !canElicit(ctx) {
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

// namedIndex reports whether the arguments of a call name an index.
func namedIndex(sent any) bool {
	given, _ := sent.(map[string]any)
	if raw, ok := sent.(json.RawMessage); ok && json.Unmarshal(raw, &given) != nil {
		return false
	}
	name := given[indexArgument]
	return name != nil && name != ""
}

// canElicit reports whether the client can show its user a form.
func canElicit(ctx context.Context) bool {
	var capabilities mcpgo.ClientCapabilities
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientCapabilities != nil {
		capabilities = *info.ClientCapabilities
	} else if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		if _, ok := session.(server.SessionWithElicitation); ok {
			capabilities = session.GetClientCapabilities()
		}
	}
	e := capabilities.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil) // clients without modes support forms
}

// elicitedIndex returns the user's answer that came with a call, or "". It needs no more
// trust than an argument: the service checks the name and the rights.
func elicitedIndex(req mcpgo.CallToolRequest) string {
	answer := server.ElicitationResponse(req.Params.InputResponses, indexArgument)
	if answer == nil || answer.Action != mcpgo.ElicitationResponseActionAccept {
		return ""
	}
	content, _ := answer.Content.(map[string]any)
	name, _ := content[indexArgument].(string)
	return name
}
